"""Where documents are cut, and chunks that say what they are of: sections, entries of lists,
diagrams, channels, decisions, classes."""

from __future__ import annotations

from memory_assets.documents import Section
from memory_assets.documents.chunk import sections
from memory_assets_tests.sweep import sweep

PARAGRAPH = "The gateway retries a request twice before it gives up and answers 503. " * 20


def _headings(chunks: list[Section]) -> list[str]:
    return [chunk.heading for chunk in chunks]


def _ticket(name: str, words: int = 30) -> str:
    return f"  - id: {name}\n    title: Retry {name}\n    text: {'late order ' * words}\n"


def test_named_entries_of_a_list_are_chunks_headed_by_key_and_name() -> None:
    """The line of the key is on the first; a short one is no less one."""
    text = "tickets:\n" + _ticket("ABC-12") + _ticket("ABC-13", 2) + _ticket("ABC-14")
    chunks = sections("plan.yaml", text)
    assert _headings(chunks) == ["tickets[ABC-12]", "tickets[ABC-13]", "tickets[ABC-14]"]
    assert chunks[0].text.startswith("tickets:\n  - id: ABC-12")
    assert chunks[1].text == _ticket("ABC-13", 2).rstrip("\n")


_LONG = "late order " * 60
_ENTRY = f'{{"name": "pay", "owner": "team-a", "text": "{_LONG}"}}'
_JOBS = "".join(f"  {name}:\n    steps: {_LONG}{_LONG}\n" for name in ("build", "test", "ship"))
_DIAGRAM = "@startuml {}\nA -> B: hello\n@enduml\n"


@sweep(
    "path, text, headings",
    [
        # Entries of a list have its key and their id, name, key or title; those that have none
        # stay with the key.
        (
            "services.json",
            f'{{"services": [\n{_ENTRY},\n{_ENTRY.replace("pay", "ship")}],\n"n": 1}}',
            ["services[pay]", "services[ship] / n"],
        ),
        ("rules.yaml", "rules:\n" + "  - allow: a\n    deny: b\n    text: c\n" * 3, ["rules"]),
        # A long mapping is cut at its own keys, a short one is one chunk.
        ("ci.yaml", f"name: CI\njobs:\n{_JOBS}", ["name / jobs.build", "jobs.test", "jobs.ship"]),
        ("ci.yaml", "on: push\njobs:\n  a: {x: 1}\n  b: {x: 2}\n", ["on / jobs"]),
        # A key of one line joins what follows, the last one what is before it.
        ("a.yaml", f"name: pay\ntext: {_LONG}\nowner: team\n", ["name / text / owner"]),
        # So does a heading alone.
        (
            "guide.md",
            f"# Guide\n\n{PARAGRAPH}\n\n## Flows\n\n## Cancel\n\n{PARAGRAPH}\n",
            ["Preamble", "Flows / Cancel"],
        ),
        # A heading within a fence, HTML, a quotation or a list is none.
        (
            "a.md",
            f"## Use\n{PARAGRAPH}\n```sh\n## not this\n```\n> ## nor this\n\n- ## nor this\n",
            ["Use"],
        ),
        # It may be underlined; the closing dashes of front matter do not.
        (
            "a.md",
            f"Title\n=====\n\n{PARAGRAPH}\n\nInstall\n-------\n\n{PARAGRAPH}\n",
            ["Preamble", "Install"],
        ),
        ("a.md", f"---\ntitle: Guide\n## a comment\n---\n## Use\n\n{PARAGRAPH}\n", ["Use"]),
        # So is AsciiDoc's, with marks or with a line below that is as long; another line delimits a
        # block, whatever is in it.
        (
            "guide.adoc",
            f"= Guide\n\n{PARAGRAPH}\n\n== Roles\n\n----\n== not this\n----\n{PARAGRAPH}\n\n"
            f"== Limits\n\n{PARAGRAPH}\n",
            ["Preamble", "Roles", "Limits"],
        ),
        (
            "guide.adoc",
            f"Guide\n=====\n\n{PARAGRAPH}\n\nRoles\n-----\n\nThe command prints:\n====\n"
            f"== not this\n\nEnd\n====\n\n{PARAGRAPH}\n\nLimits\n------\n\n----\ncode\n----\n\n"
            f"{PARAGRAPH}\n\n== Ends\n\n{PARAGRAPH}\n",
            ["Preamble", "Roles", "Limits", "Ends"],
        ),
        # Each diagram of a file is one, headed by its name or the file's.
        ("both.puml", _DIAGRAM.format("first") + _DIAGRAM.format(""), ["first", "both"]),
    ],
)
def test_a_file_is_cut_where_something_begins(path: str, text: str, headings: list[str]) -> None:
    """And all of it is in its chunks, in order."""
    chunks = sections(path, text)
    assert _headings(chunks) == headings
    assert "\n".join(chunk.text for chunk in chunks).split() == text.split()


def test_a_diagram_is_one_chunk_with_its_title_and_participants_beside_it() -> None:
    """However long it is; what says how it looks is in no chunk."""
    messages = "".join(f"orders -> billing: step {n} of the payment\n" for n in range(60))
    text = (
        "@startuml flow\n!include style.iuml\nskinparam {\n  color red\n}\n"
        "title Cancel an **order**\n"
        f'participant "Order Service" as orders\nactor billing\n{messages}@enduml\n'
    )
    (chunk,) = sections("flow.puml", text)
    assert chunk.heading == "Cancel an order"
    assert chunk.context == "Order Service, billing: Cancel an order"
    assert "skinparam" not in chunk.text and "include" not in chunk.text
    assert "step 59" in chunk.text and chunk.line_end == 69


def test_messages_and_operations_name_the_address_of_their_channel() -> None:
    """Also the schema that a message refers to, and none that no channel uses."""
    text = """asyncapi: 3.0.0
channels:
  placed:
    address: orders.placed
    messages:
      event: {$ref: '#/components/messages/OrderPlaced'}
operations:
  onPlaced:
    action: receive
    channel: {$ref: '#/channels/placed'}
components:
  messages:
    OrderPlaced:
      payload: {$ref: '#/components/schemas/Order'}
  schemas:
    Order: {type: object}
    Other: {type: object}
"""
    contexts = {chunk.heading: chunk.context for chunk in sections("events.yaml", text)}
    assert contexts["RECEIVE onPlaced"] == "events on orders.placed: RECEIVE onPlaced"
    assert contexts["Message: OrderPlaced"].startswith("events on orders.placed: ")
    assert contexts["Schema: Order"].startswith("events on orders.placed: ")
    assert contexts["Schema: Other"] == "events: Schema: Other"


def test_a_section_of_several_decisions_in_a_file_says_of_which() -> None:
    """Whether they are first- or second-level headings."""
    record = "{0} ADR-{1}: Use {2}\n\n{0}# Context\n\n{3}\n\n{0}# Decision\n\n{3}\n\n"
    for mark in ("#", "##"):
        text = "".join(record.format(mark, *each, PARAGRAPH) for each in ((1, "NATS"), (2, "S3")))
        title = "# Decisions\n\n" if mark == "##" else ""
        contexts = [chunk.context for chunk in sections("adr/all.md", title + text)]
        assert contexts[-4:] == [
            "ADR-1: Use NATS: Context",
            "ADR-1: Use NATS: Decision",
            "ADR-2: Use S3: Context",
            "ADR-2: Use S3: Decision",
        ]


def test_a_method_is_embedded_with_its_class_and_file() -> None:
    """A function that stands alone has nothing to be told ."""
    body = "\n".join(f"        total += line_{n}.amount" for n in range(60))
    text = f"class Cart:\n    def total(self):\n{body}\n\n    def clear(self):\n{body}\n"
    assert [chunk.context for chunk in sections("shop/cart.py", text)] == [
        "cart: Cart / Cart.total",
        "cart: Cart.clear",
    ]


def test_what_is_embedded_by_its_name_is_one_chunk() -> None:
    """A drawing of ten thousand lines fills no page of hits."""
    (chunk,) = sections("logo.svg", "<svg>\n" + "<path d='M0 0'/>\n" * 10_000 + "</svg>\n")
    assert (chunk.chunk_type, chunk.line_start, chunk.line_end) == ("full_file", 1, 10_002)


def test_each_second_level_heading_begins_a_chunk() -> None:
    """What stands before the first is headed Preamble."""
    install = f"## Install\n\n{PARAGRAPH}\n\n### On Linux"
    text = f"# Title\n\n{PARAGRAPH}\n\n{install}\n\n## Use ##\n\n{PARAGRAPH}"
    chunks = sections("docs/guide.md", text)
    assert _headings(chunks) == ["Preamble", "Install", "Use"]
    assert [(chunk.line_start, chunk.line_end) for chunk in chunks] == [(1, 3), (5, 9), (11, 13)]
    assert chunks[1].text == install


def test_a_section_has_its_document_as_context() -> None:
    """Title and heading; the file's name where there is no title, nothing where there is neither.
    Code has none: what it does is in the code."""
    body = f"## Options\n\n{PARAGRAPH}\n"
    assert [chunk.context for chunk in sections("adr/7.md", f"# Use a queue\n\n{body}")] == [
        "Use a queue: Options"
    ]
    assert [chunk.context for chunk in sections("guide.md", body)] == ["guide: Options"]
    (asciidoc,) = sections("a.adoc", f"= Guide\n\n{body}".replace("##", "=="))
    assert asciidoc.context == "Guide: Preamble / Options"
    assert [chunk.context for chunk in sections("note.md", PARAGRAPH)] == [""]
    text = "openapi: 3.0.0\npaths:\n  /orders:\n    get:\n      summary: List orders\n"
    (*_, operation) = sections("orders.yaml", text)
    assert operation.context == "orders: GET /orders -- List orders"
    assert [chunk.context for chunk in sections("a.py", "def run() -> None:\n    pass\n")] == [""]


def test_a_long_section_is_cut_at_the_headings_within() -> None:
    """At the next level that there is, and a long one of these again. Short ones stay together, and
    so does a document of one level."""
    deep = f"### Go on\n\n#### Retries\n\n{PARAGRAPH}\n\n#### Limits\n\n{PARAGRAPH}"
    text = f"# Gate\n\n## Run\n\n{PARAGRAPH}\n\n### Set up\n\nOnce.\n\n{deep}\n\n## End"
    chunks = sections("a.md", text)
    assert [chunk.heading for chunk in chunks] == [
        "Preamble / Run",
        "Run: Set up / Go on / Go on: Retries",
        "Run: Go on: Limits / End",
    ]
    assert chunks[2].context == "Gate: Run: Go on: Limits / End"
    flat = f"# Gate\n\n### Run\n\n{PARAGRAPH}\n\n### End\n\n{PARAGRAPH}"
    assert [chunk.heading for chunk in sections("a.md", flat)] == ["Preamble / Run", "End"]
