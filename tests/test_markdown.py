"""Text that nobody vouches for stays text in Markdown: as markdown-it renders it, tables included.

markdown-it-py comes with rich; "gfm-like" is CommonMark with tables and struck-through text.
"""

import re
from html import escape as in_html
from html import unescape
from random import Random

import pytest
from markdown_it import MarkdownIt

from rankgate.markdown import code, escape, number, table

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- hidden -->",
    "[x](javascript:alert(1))",
    "![x](https://example.org/x.png)",
    "<https://example.org>",
    "[x]: https://example.org",
    "[x][y]",
    "a | b",
    "a \\| b",
    "| --- | --- |",
    "`code`",
    "``` fence",
    "~~~ fence",
    "~~gone~~",
    "**bold** *it* __bold__ _it_",
    "__init__.py",
    "_private and __dunder__ in pkg/__main__.py:_f_",
    "snake_case_name",
    "a * b ** c",
    "# heading",
    "## heading ##",
    "- item",
    "+ item",
    "* item",
    "1. item",
    "23) item",
    "> quote",
    "---",
    "***",
    "===",
    "&lt;b&gt; &amp; &#x3c; &copy",
    "a & b && c",
    "a < b > c -> d",
    "\\*not\\* \\",
    "C:\\folder\\file",
    "$x^2$ and $$y$$",
    "back\\`tick",
    "日本語_テスト_",
    "'quotes' \"and\" more",
    "-3",
    "1.5 seconds",
]
UNPRINTABLE = {
    "two\nlines": "two lines",
    "two\r\nlines": "two lines",
    "two\u2028lines": "two lines",
    "\x1b[31mred\x1b[0m": "[31mred [0m",
    "a\x00b\x07c": "a b c",
    "right\u202eto left": "right to left",
    "\u200fmark": "mark",
    "zero\u200bwidth": "zero width",
    "tab\tstop": "tab stop",
    "    indented": "indented",
    "half \ud800 of a pair": "half of a pair",
}


def rendered(markdown: str) -> str:
    return MarkdownIt("gfm-like", {"linkify": False}).render(markdown).strip()


def as_text(html: str, *allowed: str) -> str:
    """The text of HTML that must have no element but the allowed ones."""
    tags = set(re.findall(r"<[^>]*>", html))
    assert tags <= {f"<{end}{name}>" for name in allowed for end in ("", "/")}, html
    return unescape(re.sub(r"<[^>]*>", "", html)).strip()


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_is_one_paragraph_that_shows_it_as_it_is(text: str) -> None:
    assert rendered(escape(text)) == f"<p>{in_html(text, quote=False)}</p>".replace('"', "&quot;")


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_is_text_in_a_heading(text: str) -> None:
    assert as_text(rendered(f"### {escape(text)}: ok"), "h3") == f"{text}: ok"


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_is_text_in_a_list(text: str) -> None:
    assert as_text(rendered(f"- supported: {escape(text)}"), "ul", "li") == f"supported: {text}"


@pytest.mark.parametrize("made", [escape, code])
@pytest.mark.parametrize("text", HOSTILE)
def test_text_breaks_no_table(made: object, text: str) -> None:
    assert callable(made)
    html = rendered(table(["module", "grade"], [[made(text), "3"], ["b", "2"]]))
    cells = re.findall(r"<td>(.*?)</td>", html, re.DOTALL)
    assert len(cells) == 4
    assert as_text(cells[0], "code") == text
    assert cells[1:] == ["3", "b", "2"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_in_code_style_is_text_outside_of_tables_too(text: str) -> None:
    assert as_text(rendered(f"see ({code(text)})"), "p", "code") == f"see ({text})"


@pytest.mark.parametrize(("text", "shown"), UNPRINTABLE.items())
def test_what_cannot_be_printed_is_a_space(text: str, shown: str) -> None:
    assert as_text(rendered(escape(text)), "p") == shown
    assert as_text(rendered(code(text)), "p", "code") == shown


def test_plain_prose_and_code_stay_readable_in_the_source() -> None:
    for text in ("decode_token checks expiry -> 401", "a && b", "GET /users?id=1", "(x, y) = 2"):
        assert escape(text) == text


def test_a_name_is_in_code_style() -> None:
    assert code("pkg/__init__.py") == "`pkg/__init__.py`"


def test_an_empty_name_opens_no_code() -> None:
    assert code("") == ""


def test_very_long_text_is_cut_with_a_sign() -> None:
    assert len(escape("x" * 100_000)) == 2000
    assert escape("x" * 100_000).endswith("…")


def test_random_text_is_always_text() -> None:
    random = Random(11)  # any seed
    pieces = [*r"_*`|\<>&[]()#-+.~!$=:;'/@^{}%", "__", "a", "b1", " ", "lt;", "1", "é", "²", "日"]
    for _ in range(1000):
        text = "x".join(random.choices(("", *pieces), k=2)) + "".join(random.choices(pieces, k=6))
        shown = " ".join(text.split())
        for made in (escape, code):
            html = rendered(table(["h"], [[made(text)]]))
            (cell,) = re.findall(r"<td>(.*?)</td>", html, re.DOTALL)
            assert as_text(cell, "code") == shown
            assert as_text(rendered(made(text)), "p", "code") == shown


# --- Tables and numbers -------------------------------------------------------------------------


def test_a_table_lines_up() -> None:
    assert table(["rank", "module"], [["1", "`a.py`"], ["missing", "`b.py`"]]).splitlines() == [
        "| rank    | module |",
        "|---------|--------|",
        "| 1       | `a.py` |",
        "| missing | `b.py` |",
    ]


def test_a_table_without_rows_is_its_head() -> None:
    assert table(["a", "b"], []).splitlines() == ["| a | b |", "|---|---|"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "—"),
        (0, "0"),
        (19, "19"),
        (0.0, "0.000"),
        (1.0, "1.000"),
        (0.6666667, "0.667"),
        (9.5, "9.500"),
        (20864.5, "20864.5"),
    ],
)
def test_a_number_for_people(value: float | None, shown: str) -> None:
    assert number(value) == shown
