"""Each part of a web address is judged by what it is and where it stands."""

from __future__ import annotations

from memory_assets.redaction.rules.addresses.find import find_in_address
from memory_assets.redaction.rules.addresses.parts import address_end, read_address
from memory_assets_tests.proportion import in_proportion
from memory_assets_tests.redaction.goes import goes, stays
from memory_assets_tests.sweep import sweep

DRAWN = "q8Kd93wdlsF93kdLs9fbd93kXl2p"
HEXADECIMAL = "9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d"
UUID = "7b3c1d2e-4f5a-4b7c-8d9e-0f1a2b3c4d5e"


def test_an_address_is_taken_apart() -> None:
    """Each part keeps its place, matrix parameters and fields of the path are parameters."""
    text = "HTTPS://bob:pw@Acme.io:8443/a;v=1/t=2/b?x=3&y=4#z=5,6"
    address = read_address(text)
    assert (address.scheme, address.user.value, address.host.value) == (
        *("https", "bob", "acme.io:8443"),
    )
    assert [part.value for part in address.segments] == ["a", "b"]
    assert [(f.name, f.value) for f in address.fields] == [
        *(("v", "1"), ("t", "2"), ("x", "3"), ("y", "4")),
    ]
    assert [(f.name, f.value) for f in address.fragment] == [("", "z"), ("z", "5"), ("", "6")]
    for part in (*address.segments, *address.fields, *address.fragment):
        assert text.startswith(part.value, part.start)


def test_an_address_ends_at_the_next_one() -> None:
    """So no character is read twice."""
    text = "see https://a.io/?next=https://b.io/x and more"
    assert address_end(text, text.index("://")) == text.rindex("://")
    assert address_end(text, text.rindex("://")) == text.index(" and")


test_a_segment_goes_that_is_nothing_ordinary = goes(
    "Whatever the host is called: no word, number, version, slug, or name of a file.",
    ("https://acme.io/x/{s}", DRAWN),
    ("https://acme.io/x/{s}/status", HEXADECIMAL),
    ("https://acme.io/d/{s}?a=1", DRAWN),
    ("https://acme.io/{s}/ping", DRAWN),
    ("https://api.acme.io/v1/{s}/forecast", UUID),
    ("https://rancher.acme.io/v3/import/{s}.yaml", "k4zq7xw2vn9b" * 3),
    ("https://alert.acme.io/generic/20131114/alert/{s}/team", UUID),
    ("https://acme.io/(S({s}))/default.aspx", "4igw3x1bhnsewbyr7x9pmyvf"),
    ("https://sc.acme.io/SCU{s}.send?text=hi", DRAWN),
    ("rtmps://live.acme.io:443/rtmp/FB-664728250-0-{s}", "Xq7TsBw2ec7vnsD7"),
    ("https://tele.acme.io/bot110201543:{s}/getMe", "hemligt"),
)


test_a_parameter_goes_by_its_name_and_its_value = goes(
    "The clearer the name, the less its value has to look drawn.",
    ("https://acme.io/meet/1?p={s}", "y3MJPn3o46bmOUsNPf"),
    ("https://acme.io/a?tkn={s}", UUID),
    ("https://acme.io/a?meeting=1&checksum={s}", HEXADECIMAL),
    ("http://acme.io/query?db=x&u=bob&p={s}", "meadow"),
    ("https://acme.io/a?access_token={s}", "topsecret"),
    ("https://acme.io/a?b=1&amp;token={s}", "mead22"),
    ("https://acme.io/a?token={s}", "40817352"),
    ("https://acme.io/cb#access_token={s}&scope=a", "sdlfkj452"),
    ("otpauth-migration://offline?data={s}", DRAWN * 2),
    ("https://acme.io/a.m3u8?hdnea=st=1~exp=2~acl=/*~hmac={s}", HEXADECIMAL * 2),
    ("https://acme.io/cas?ticket=ST-470521-{s}-cas01", "iHUblomzYb7swaSqUE59"),
)


test_what_lets_a_user_in_goes = goes(
    "Without a scheme, as a user without a password, with escapes in lower case.",
    ("//bob:{s}@acme.io/x", "banjo2905"),
    ("https://{s}:@api.acme.io/v1", "s3cr3tkey"),
    ("https://{s}:x-oauth-basic@acme.io/a/b", "s3cr3tkey"),
    ("mysql://root:{s}@db/x", "my_s3cret"),
    ("imap://bob:{s}@mail.acme.io", "%c3%a9t%c3%a9"),
    ("amqp://bob:{s}@:5672//", "lantern"),
    ("bob:{s}@(db:3306)/shop", "lantern"),
    ("bob:{s}@db.acme.io:5432", "lantern4711"),
)


test_parts_that_are_ordinary_where_they_stand_stay = stays(
    "Hashes of commits and contents, ids behind collections, public ids of known hosts, titles.",
    f"https://github.com/acme/app/commit/{HEXADECIMAL}01234567",
    f"https://raw.githubusercontent.com/acme/app/{HEXADECIMAL}01234567/a.md",
    f"https://gist.github.com/bob/{HEXADECIMAL}",
    f"https://cdn.acme.io/app.{HEXADECIMAL}.js",
    f"https://acme.io/images/{HEXADECIMAL}.png",
    f"https://acme.io/projects/{UUID}/issues/17",
    f"http://localhost:3000/session/{UUID}",
    f"https://api.acme.io/v2/users/{UUID}",
    f"https://docs.google.com/document/d/{DRAWN}/edit",
    "https://www.youtube.com/watch?v=8hYdq4sWbbQ&si=WG0QP1CZ6gkFf18b",
    "https://discord.gg/T6Gp6NFYHe",
    "https://asciinema.org/a/shV3YOFu74BcBakJcvY4USNqv",
    "https://ci.appveyor.com/api/projects/status/mi816811c9e9mx29?svg=true",
    "https://github.com/acme/app/compare/v1.20.0...v1.20.1",
    "https://github.com/acme/app/security/advisories/GHSA-9wx4-h78v-vm56",
    "https://ja.wikipedia.org/wiki/%E3%82%A8%E3%83%83%E3%83%84%E3%82%A3",
    f"https://acme.io/a.html#diff-{HEXADECIMAL}",
    "https://px.acme.io/svt/ejp?a8mat=U0TBQ+AQZRZM+5WS+C1DUQ",
    "https://acme.io/callback?state=0Wq1mkCNlgEYN0MP-wQ7Wv",
    "https://acme.io/webhooks/events/2024-01-01?next_token=abc",
    "https://acme.io/get?key1=value1&key=page2",
    "https://acme.io/badge.svg?logo=data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAA4AAAAO",
    f"github.com/acme/app v1.2.0 h1://{DRAWN}{DRAWN[:15]}=",
)


@sweep(
    "unit", ["://", "a1://", "/a1", "?", "a=1&", "~a=1", "#", "1-", "rpc-", "cdn.", "%41", "@", ":"]
)
def test_addresses_are_read_in_linear_time(unit: str) -> None:
    """80,000 characters take a hundredth of a second; what is quadratic takes minutes."""

    def read(size: int) -> None:
        text = "http://a" + unit * (size // len(unit))
        position, end = text.find("://"), 0
        while position >= 0:
            if position >= end:
                _, end = find_in_address(text, position)
            position = text.find("://", position + 1)

    assert in_proportion(read, 20_000)
