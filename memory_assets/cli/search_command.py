"""`memory search`: search, and print the answer for a person, a program or a pipe."""

from __future__ import annotations

import sys

from memory_assets.cli import exit_codes
from memory_assets.cli.commands import request_command
from memory_assets.cli.printing import rendering
from memory_assets.requests.search import SearchRequest


@request_command(
    SearchRequest, "memory search why did the upload time out --project . --since 'last monday'"
)
def search(request: SearchRequest, as_json: bool) -> None:
    """Search by words and meaning.

    Prints the best hits, each with the id that `memory show` takes. If none is likely to answer,
    says so first; ends with exit code 3 if, besides, a word of the query is nowhere in memory.
    """
    from memory_assets.recall import open_memory
    from memory_assets.serving.answer_lines import search_lines, search_notes, with_spoken_names
    from memory_assets.serving.views import AgentText

    if request.interactive:
        from memory_assets.cli.browse import browse, require_terminal

        require_terminal()
    memory = open_memory()
    with rendering.notice_if_slow():
        answer = memory.ask(request)
    filters = with_spoken_names(answer["filters"], memory.catalog.spoken_projects)
    notes = list(search_notes({**answer, "filters": filters}))
    by_time = request.sort == "date" or not request.query.strip()
    if request.interactive:
        browse(memory, answer, by_time=by_time)
        rendering.print_lines(notes, stderr=True)
    elif as_json or not sys.stdout.isatty():
        lines = search_lines(answer, AgentText(memory).project, full=request.full)
        rendering.print_recalled(answer, as_json, lines, notes)
    else:
        from memory_assets.cli.printing.hit_view import terminal_lines, what_to_type

        layout = rendering.layout_of_output(colours=True, full=request.full)
        lines = terminal_lines(memory, answer, layout, by_time=by_time)
        rendering.write_lines(lines, sys.stdout, paged=request.pager)
        rendering.print_lines(what_to_type(memory, answer), stderr=True)
        rendering.print_lines(notes, stderr=True)
    nothing_close = not answer["hits"] or (answer["weak"] and answer["missing"])
    if nothing_close:
        sys.exit(exit_codes.NOTHING_FOUND)
