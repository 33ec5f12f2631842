"""Codex's code mode, whose tool calls stand in JavaScript.

Seen in 0.142 to 0.153: quoted and bare keys, three kinds of quotes, lists of commands that are
mapped, local functions, patches as literals; nested calls have ids of their own, `exec-<uuid>`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_assets.models import Record
from memory_assets.transcripts.codex.scripts import Opaque, tool_calls
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcripts.conftest import CodexLines, Read

PATCH = "*** Begin Patch\n*** Update File: src/cart.ts\n@@\n-a\n+b\n*** End Patch\n"


def script(codex: CodexLines, code: str, call_id: str = "c1") -> None:
    """Add a call that runs a script."""
    codex.item("custom_tool_call", name="exec", call_id=call_id, input=code, status="completed")


def printed(codex: CodexLines, *texts: str, call_id: str = "c1") -> None:
    """Add what a script printed, a block for each text."""
    blocks = [{"type": "input_text", "text": text} for text in texts]
    codex.item("custom_tool_call_output", call_id=call_id, output=blocks)


def ended(output: str, **facts: Any) -> str:
    """Return how a command ended, as scripts print it."""
    return json.dumps({"chunk_id": "6e8cbb", "wall_time_seconds": 0, **facts, "output": output})


def of_kind(records: list[Record], kind: str, tool: str = "exec") -> list[Record]:
    """Return the records of a kind and a tool."""
    return [record for record in records if record.kind == kind and record.tool_name == tool]


@pytest.mark.parametrize(
    ("code", "commands"),
    [
        ('await tools.exec_command({cmd:"npm test",workdir:"/x"})', ["npm test"]),
        ('await tools.exec_command({"cmd":"npm test","workdir":"/x"})', ["npm test"]),
        ("await tools.exec_command({ cmd: 'npm \\'test\\'' })", ["npm 'test'"]),
        ('await tools.shell_command({command:"npm run lint"})', ["npm run lint"]),
        ('await tools["shell_command"]({command:["bash","-lc","a | b"]})', ["a | b"]),
        ("await tools.exec_command({cmd:`cat <<'E'\nx\nE`})", ["cat <<'E'\nx\nE"]),
        (
            "await Promise.all([0,1].map(n => tools.exec_command({cmd:`t --shard ${n}`})))",
            ["t --shard 0", "t --shard 1"],
        ),
        (
            "await tools.exec_command({cmd: `git show ${sha} -- ` + 'a.py'})",
            ["git show ${sha} -- a.py"],
        ),
        ('const cmd = "make all"; await tools.exec_command({cmd})', ["make all"]),
        (
            'const all = ["a b", "c d"]; for (const cmd of all) await tools.exec_command({cmd});',
            ["a b", "c d"],
        ),
        (
            'await Promise.all(Object.entries({x: "a b"}).map(async ([name, cmd]) => '
            "[name, await tools.exec_command({cmd})]))",
            ["a b"],
        ),
        (
            'const sh = async (cmd) => (await tools.exec_command({cmd, workdir: "/x"})).output;\n'
            'text(await sh("git status")); text(await sh(`make`));',
            ["git status", "make"],
        ),
        ("const t = tools;\nawait t.exec_command({cmd: 'ls'})", ["ls"]),
        ('const {exec_command: run} = tools; await run({cmd: "ls"})', ["ls"]),
        ("// tools.exec_command({cmd:\"no\"})\n/* tools.exec_command({cmd:'no'}) */", []),
        ("const s = 'tools.exec_command({cmd:\"no\"})'; text(s)", []),
        ("const quote = /[\"'`]/; await tools.exec_command({cmd: 'yes'})", ["yes"]),
        ("await tools.exec_command({cmd: built()})", []),
        ("const o = {cmd: 'ls', n: 1}; await tools.exec_command({...o, n: 2})", ["ls"]),
        ("await tools.exec_command({cmd: 'a', ...other, ...{cmd: 'b'}})", ["b"]),
        (
            "const a = ['x', 'y']; for (const c of [...a, 'z', ...b]) tools.exec_command({cmd: c})",
            ["x", "y", "z"],
        ),
        (
            "const t = tools; await t?.exec_command?.({cmd: 'make -j' + 4 + ' all'})",
            ["make -j4 all"],
        ),
        (r"await tools.exec_command({cmd: String.raw`dir C:\new`.trim()})", [r"dir C:\new"]),
        ("await tools[`exec_command`]({cmd: 'ls'})", ["ls"]),
        ("await tools.exec_command({cmd: 'git log ' + (n || '-3')})", ["git log ${n || '-3'}"]),
        ("const a = ['ls']; await tools.exec_command({cmd: a['0']})", ["ls"]),
        ("const a = ['ls']; await tools.exec_command({cmd: a['0000000009']})", []),
        ("const a = ['ls']; await tools.exec_command({cmd: a['9999999999']})", []),
        (f"const a = ['ls']; await tools.exec_command({{cmd: a['{'1' * 5_000}']}})", []),
    ],
)
def test_commands_are_read_from_the_script(
    codex: CodexLines, read: Read, code: str, commands: list[str]
) -> None:
    """Whatever the quotes, the tool and the way to the call; unknown parts stay `${...}`."""
    script(codex, code)
    (call,) = of_kind(read(codex).records, "tool_use")
    assert call.command.split("\n" if "<<" not in code else "\0") == (commands or [""])
    assert call.text == code.strip()


_RUN = "tools.exec_command({cmd: c});"


@sweep(
    "code, commands",
    [
        (f"let c='a'; const f = () => {{ let c = 'b' }}; f(); {_RUN}", ["a"]),
        (f"let c='a'; const f = () => {{ const c = built(); {_RUN} }}; f()", ["${c}"]),
        (f"let c='a'; for (c of ['x','b']) g(c); {_RUN}", ["b"]),
        ("const mk = (d) => (c) => tools.exec_command({cmd: `${d}`}); mk('/w')('a')", ["/w"]),
        (f"function o(c) {{ i(); function i() {{ {_RUN} }} }} o('a'); o('b')", ["a", "b"]),
        (f"for (const {{c}} of [{{c: 'a'}}, {{d: 'b'}}]) {_RUN}", ["a", "${c}"]),
    ],
)
def test_a_name_is_that_of_the_place_where_it_stands(code: str, commands: list[str]) -> None:
    """What a function assigns stays in it; what is declared anew and not known, is not."""
    assert _commands(code) == commands


@sweep(
    "code",
    [
        f"const f = (c, n) => {{ {_RUN} f(c, n - 1) }}; f('a', 3)",
        f"function f(c) {{ {_RUN} g(c) }} function g(c) {{ f(c); f(c) }} f('a')",
        f"const f = c => {{ {_RUN} setTimeout(() => f(c)) }}; f('a')",
        f"const f = c => {{ {_RUN} ['x', 'y'].map(f) }}; f('a')",
        *(f"{'if (b) {' * depth}{{ const c = 'a'; {_RUN} }}{'}' * depth}" for depth in (1, 20)),
    ],
)
def test_code_in_itself_is_gone_through_once(code: str) -> None:
    """How often a function calls itself is not known; blocks may lie deep."""
    assert _commands(code) == ["a"]


def test_a_long_chain_of_calls_is_no_call_of_a_tool() -> None:
    """Nor are the methods of what is not known."""
    assert tool_calls("a" + ".map(x => x).join('')" * 3_000) == []


def _commands(code: str) -> list[str]:
    arguments = [call.argument for call in tool_calls(code)]
    given = [value["cmd"] for value in arguments if isinstance(value, dict)]
    assert len(given) == len(arguments)
    return [f"${{{c.code}}}" if isinstance(c, Opaque) else str(c) for c in given]


@sweep(
    "code",
    [
        "if (a) {" * 400 + "tools.exec_command({cmd: 'a'})" + "}" * 400,
        "(((" * 9_000,
        "`${" * 9_000,
        "a=[" * 5_000 + "]" * 5_000,
        "a.join(" * 3_000 + ")" * 3_000,
        'let a="x";' + "a=a+a;" * 80 + "tools.exec_command({cmd:a})",
        "a=[1];" + "a=[...a,...a];" * 80 + "a.map(c => tools.exec_command({cmd:c}))",
        '"' * 30_001 + "tools.",
        "a=" * 9_000 + "1",
        "function f(){};" + "f(" * 9_000,
        "function f(a=" * 2_000 + "1",
        "tools.exec_command({...}, [...])",
        "tools.exec_command([.../*a*/])",
    ],
)
def test_no_code_is_too_odd(code: str) -> None:
    """Nested, unclosed and exploding code costs little and raises nothing."""
    assert all(len(str(call.argument)) < 500_000 for call in tool_calls(code))


@sweep(
    "data, value",
    [
        (f"a='{'x' * 100_000}'", "a+''"),
        (f"a='{'x' * 100_000}'", "`${a}`"),
        (f"a=['{'x' * 100_000}']", "a.join()"),
        (f"a={{{','.join(f'k{n}:1' for n in range(4_000))}}}", "Object.entries(a)"),
        (f"a={{{','.join(f'k{n}:1' for n in range(4_000))}}}", "{...a}"),
        (f"a=[{'1,' * 4_000}]", "[...a,...a]"),
    ],
)
def test_a_script_that_costs_too_much_is_not_read_to_its_end(data: str, value: str) -> None:
    """What was read before is known."""
    calls = tool_calls(f"{data};" + f"tools.f({value});" * 200)
    assert 10 <= len(calls) < 150


@pytest.mark.parametrize(
    "code",
    [
        f"const patch = {json.dumps(PATCH)};\ntext(await tools.apply_patch(patch));",
        f"await tools.apply_patch(`{PATCH}`)",
        f"const p = {json.dumps(PATCH.splitlines())}.join('\\n'); await tools.apply_patch(p)",
        f"await tools.apply_patch({{input: {json.dumps(PATCH)}}})",
        f"await apply(tools, {json.dumps(PATCH)})",
    ],
)
def test_a_patch_in_a_script_is_a_call_of_its_own(codex: CodexLines, read: Read, code: str) -> None:
    """It has the patch as it was applied, and its files."""
    script(codex, code)
    printed(codex, "Script completed\nOutput:\n", "{}")
    records = read(codex).records
    (call,), (result,) = (of_kind(records, kind, "apply_patch") for kind in _CALL)
    assert call.text.strip() == PATCH.strip()
    assert call.paths == result.paths == ("src/cart.ts",)
    assert call.tool_use_id == result.tool_use_id != "c1"
    assert not result.is_error


_CALL = ("tool_use", "tool_result")


def test_a_patch_is_as_good_as_its_end_says(codex: CodexLines, read: Read) -> None:
    """A test that fails in the same script does not undo it."""
    code = f"await tools.apply_patch({json.dumps(PATCH)}); text(await tools.exec_command(T))"
    script(codex, code)
    changes = {"/home/ada/engine/src/cart.ts": {"type": "update", "unified_diff": "@@ -1 +1 @@"}}
    codex.event(
        "patch_apply_end", call_id="exec-1", success=True, stdout="Success.", changes=changes
    )
    printed(codex, "Script completed\nOutput:\n", ended("1 failing", exit_code=1))
    records = read(codex).records
    (call,), (result,) = (of_kind(records, kind, "apply_patch") for kind in _CALL)
    assert (call.text, call.paths) == (PATCH, ("/home/ada/engine/src/cart.ts",))
    assert (result.text, result.is_error) == ("Success.", False)
    assert of_kind(records, "tool_result")[0].is_error


@pytest.mark.parametrize("event", ["patch_apply_end", "item_completed"])
def test_a_patch_that_no_literal_shows_is_read_from_its_end(
    codex: CodexLines, read: Read, event: str
) -> None:
    """The script computed it: the event has its files and changes."""
    changes = {
        "a.py": {"type": "add", "content": "x = 1\n"},
        "b.py": {"type": "update", "unified_diff": "@@ -1,2 +1,2 @@ def b\n-x\n+y\n z\n"},
        "c.py": {"type": "delete", "content": "gone\n"},
    }
    script(codex, "await tools.apply_patch(makePatch(files))")
    if event == "item_completed":
        item = {"type": "FileChange", "id": "exec-1", "status": "completed", "changes": changes}
        codex.event(event, item=item)
    else:
        codex.event(event, call_id="exec-1", success=True, changes=changes)
    printed(codex, "Script completed\nOutput:\n")
    (call,) = of_kind(read(codex).records, "tool_use", "apply_patch")
    assert call.paths == ("a.py", "b.py", "c.py")
    assert call.text == (
        "*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** Update File: b.py\n@@ def b\n-x\n+y\n z\n"
        "*** Delete File: c.py\n*** End Patch"
    )


def test_the_end_of_a_patch_that_was_called_by_itself_is_a_double(
    codex: CodexLines, read: Read
) -> None:
    """Outside of scripts the call has the patch."""
    codex.item("custom_tool_call", name="apply_patch", call_id="c1", input=PATCH)
    codex.event("patch_apply_end", call_id="c1", success=True, changes={"src/cart.ts": {}})
    codex.item("custom_tool_call_output", call_id="c1", output="Success.")
    found = read(codex)
    assert found.kinds == ["tool_use", "tool_result"]
    assert found.report.dropped["doubled-output"] == 1


def test_each_command_of_a_script_has_its_own_end(codex: CodexLines, read: Read) -> None:
    """Where the script prints one for each."""
    script(codex, 'for (const cmd of ["make a", "make b"]) text(await tools.exec_command({cmd}))')
    printed(
        codex, "Script completed\nOutput:\n", ended("bad", exit_code=2), ended("ok", exit_code=0)
    )
    results = of_kind(read(codex).records, "tool_result")
    assert [(each.command, each.is_error) for each in results] == [
        ("make a", True),
        ("make b", False),
    ]
    assert "bad" in results[0].text
    assert "ok" in results[1].text


@pytest.mark.parametrize(
    ("blocks", "failed"),
    [
        ([ended("no", exit_code=1)], True),
        ([json.dumps([{"exit_code": 0, "output": "a"}, {"exit_code": 3, "output": "b"}])], True),
        ([json.dumps({"lint": {"exit_code": 0, "output": "a"}}, indent=2)], False),
        ([json.dumps([{"status": "fulfilled", "value": {"exit_code": 1, "output": "a"}}])], True),
        (["Exit code: 0\nWall time: 1 seconds\nOutput:\nok"], False),
        (["12 passing, 0 failing"], False),
    ],
)
def test_the_output_says_whether_a_command_failed(
    codex: CodexLines, read: Read, blocks: list[str], failed: bool
) -> None:
    """In whichever wrapping a script prints it; its JSON is told as text."""
    script(codex, "text(await tools.exec_command({cmd: 'make'}))")
    printed(codex, "Script completed\nWall time 0.1 seconds\nOutput:\n", *blocks)
    (result,) = of_kind(read(codex).records, "tool_result")
    assert result.is_error == failed
    assert '"output"' not in result.text


def test_a_command_that_the_script_computed_is_read_from_its_end(
    codex: CodexLines, read: Read
) -> None:
    """One that the script has as a literal is not told twice."""
    script(codex, "await tools.exec_command({cmd: built()}); tools.exec_command({cmd: 'make b'})")
    for name, command in (("exec-1", "make a"), ("exec-2", "make b")):
        shell = ["/bin/zsh", "-lc", command]
        codex.event(
            "exec_command_end", call_id=name, command=shell, exit_code=0, aggregated_output="x"
        )
    printed(codex, "Script completed\nOutput:\n")
    calls = [record.command for record in read(codex).records if record.kind == "tool_use"]
    assert calls == ["make b", "make a"]


def test_a_script_in_the_arguments_of_a_function_is_one(codex: CodexLines, read: Read) -> None:
    """Some providers get the tool as a function."""
    given = json.dumps({"input": 'await tools.exec_command({cmd: "make"})'})
    codex.item("function_call", name="exec", call_id="c1", arguments=given)
    (call,) = of_kind(read(codex).records, "tool_use")
    assert call.command == "make"
