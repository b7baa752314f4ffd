"""Markdown, made from text that nobody vouches for.

Whatever comes from a repo, a question or a system is text: it is escaped where it is shown.
"""

import re
from collections.abc import Sequence

from rankgate.errors import one_line

# An underscore inside a word is text as it is; a heading, list or quote opens only in front.
_MARKUP = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])|^[-+#>]|^\d+[.)]")
_ENTITY = re.compile(r"&(?=#?\w+;)")


def escape(text: object) -> str:
    """Any text as one line of Markdown that shows it as it is, HTML and links included."""
    flat = _MARKUP.sub(lambda match: f"{match[0][:-1]}\\{match[0][-1]}", one_line(text, 2000))
    return _ENTITY.sub("&amp;", flat).replace("<", "&lt;")


def code(text: object) -> str:
    """A name in code style; as plain text if it has what code cannot hold, in a table or not."""
    flat = one_line(text, 1000)
    return f"`{flat}`" if flat and not set(flat) & set("`|\\") else escape(flat)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of Markdown cells, padded so that it lines up in a terminal."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    rule = f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    return "\n".join([line(head), rule, *map(line, rows)])


def number(value: float | None) -> str:
    """A metric for people: three decimals up to 10, one above; integers as they are."""
    if value is None:
        return "—"
    if isinstance(value, int):
        return str(value)
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"
