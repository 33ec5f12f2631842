"""`memory search`: search, and print the answer for a person, a program or a pipe."""

from __future__ import annotations

import sys
from shutil import get_terminal_size

from memory_assets.cli import exit_codes
from memory_assets.cli.commands import takes
from memory_assets.cli.printing import rendering
from memory_assets.requests.search import SearchRequest


@takes(SearchRequest, "memory search why did the upload time out --project . --since 'last monday'")
def search(asked: SearchRequest, as_json: bool) -> None:
    """Search by words and meaning.

    Prints the best hits, each with the id that `memory show` takes. If none is likely to answer,
    says so first; ends with exit code 3 if, besides, a word of the query is nowhere in memory.
    """
    from memory_assets.recall import open_memory
    from memory_assets.serving.answer_lines import as_spoken, search_lines, search_notes
    from memory_assets.serving.views import AgentText

    if asked.interactive:
        from memory_assets.cli.browse import browse, require_terminal

        require_terminal()
    memory = open_memory()
    with rendering.said_if_long():
        answer = memory.ask(asked)
    filters = as_spoken(answer["filters"], memory.catalog.spoken_projects)
    notes = list(search_notes({**answer, "filters": filters}))
    by_time = asked.sort == "date" or not asked.query.strip()
    if asked.interactive:
        browse(memory, answer, by_time=by_time)
        rendering.print_lines(notes, stderr=True)
    elif as_json or not sys.stdout.isatty():
        lines = search_lines(answer, AgentText(memory).project, full=asked.full)
        rendering.print_recalled(answer, as_json, lines, notes)
    else:
        from memory_assets.cli.printing.hit_view import terminal_lines, what_to_type

        width, colours = get_terminal_size().columns, rendering.has_colours(sys.stdout)
        lines = terminal_lines(
            memory, answer, width=width, colours=colours, full=asked.full, by_time=by_time
        )
        rendering.write_lines(lines, sys.stdout, paged=asked.pager)
        rendering.print_lines(what_to_type(memory, answer), stderr=True)
        rendering.print_lines(notes, stderr=True)
    nothing_close = not answer["hits"] or (answer["weak"] and answer["missing"])
    if nothing_close:
        sys.exit(exit_codes.NOTHING_FOUND)
