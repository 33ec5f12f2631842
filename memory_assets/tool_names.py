"""What the tools of all agents do, by name: one table for redaction, files, commands and failures.

An agent whose tools have other names adds them here, in lower case and without what stands before
a `__` or a `.` (a server, a namespace).
"""

from __future__ import annotations

import re
from typing import Literal

ToolKind = Literal["read", "write", "search", "list", "shell", ""]

_NAMES: dict[ToolKind, str] = {
    # show what is in files
    "read": "read readfile read_file read_file_v2 read_files readmanyfiles read_many_files"
    " read_multiple_files read_text_file notebookread view viewfile view_file view_range open"
    " openfile open_file cat getfile get_file get_file_contents read_resource viewimage view_image",
    # change files, or make and delete them
    "write": "write writefile write_file write_to_file create createfile create_file edit editfile"
    " edit_file edit_file_v2 editor text_editor multiedit multi_edit notebookedit notebook_edit"
    " apply_patch applypatch apply_diff str_replace_editor str_replace_based_edit_tool str_replace"
    " strreplace replace replace_in_file replacestring replace_string_in_file multireplacestring"
    " multi_replace_string_in_file search_replace search_and_replace insert insert_content"
    " insertedit insert_edit_into_file patch delete delete_file deletefile save_file"
    " create_new_file edit_notebook edit_notebook_file texteditgroup"
    # as the screen of Cline and Roo Code names them
    " editedexistingfile newfilecreated applieddiff insertcontent searchandreplace",
    # find text in files
    "search": "grep grep_files grepsearch grep_search search search_files search_file_content"
    " searchfiles search_in_files codebasesearch searchtext ripgrep rg ripgrep_raw_search"
    " codebase_search search_codebase semantic_search"
    " findtextinfiles",
    # find files
    "list": "glob find ls list list_files list_dir list_directory listdirectory file_search"
    " glob_file_search find_path findfiles listfilestoplevel listfilesrecursive",
    # run commands
    "shell": "bash shell local_shell shell_command exec exec_command execute execute_command"
    " run_command run_commands run_shell_command run_terminal_cmd run_terminal_command"
    " run_terminal_command_v2"
    " run_in_terminal runinterminal terminal unified_exec",
}
_KINDS: dict[str, ToolKind] = {name: kind for kind, all_ in _NAMES.items() for name in all_.split()}
_PREFIX = "copilot_"
_DIGEST_LINE = re.compile(r"([A-Za-z_][\w.-]{0,99})(?: error)?: \S")
_LIKE_A_TOOL = re.compile(
    r"Agent|Skill|Task|\w*[^\W_]_+[^\W_][\w.-]*|[A-Za-z]*[a-z][A-Z]\w*(?<!Error)"
)


def kind_of_tool(name: str) -> ToolKind:
    """Return what a tool does, "" for one that is not in the table."""
    own = name.rsplit("__", 1)[-1].rsplit(".", 1)[-1].casefold()
    return _KINDS.get(own) or _KINDS.get(own.removeprefix(_PREFIX), "")


def digest_lines(text: str) -> int:
    """Return how many lines at the end of a text are a digest of calls, as `chunking/digest.py`
    writes it: each begins with a tool's name, but that commands may go on over lines. "Note: ..."
    and "TypeError: ..." are said by somebody."""
    lines = text.rstrip().split("\n")
    begin = at = len(lines)
    while at and lines[at - 1].strip():
        at -= 1
        name = _DIGEST_LINE.match(lines[at])
        if name is None:
            continue
        kind = kind_of_tool(name[1])
        goes_on = begin > at + 1
        if (goes_on and kind != "shell") or not (kind or _LIKE_A_TOOL.fullmatch(name[1])):
            break
        begin = at
    return len(lines) - begin
