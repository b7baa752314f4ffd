"""Cutting a module into chunks of lines, where its definitions begin if it has any.

Definitions are found by their keywords, their nesting by indentation: that holds well enough for
Python, TypeScript, Rust, Go, C and the like, and text without any is cut by length. A wrong guess
moves a cut, no more.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# `def f`, `export default async function f`, `pub(crate) fn f`, `func (r *T) f`, `impl<T> f` …
_KEYWORD = re.compile(
    r"""
    [ \t]*+
    (?: [a-z]++ (?: \([a-z]*\) )? [ \t]++ ){0,4}?
    (?: def|class|func|fn|function|fun|struct|enum|union|trait|interface|impl|type|module
      | namespace|protocol|record|object|sub|proc|package|mod ) \b [ \t]*+
    (?: \( [^()]*+ \) [ \t]*+ | <[^<>]*+> [ \t]*+ )?
    (?P<name>\w++)
    """,
    re.VERBOSE,
)
# `static int f(int a)` at the margin, `public void f(int a) {`, `f(a) {`: no keyword, but a
# parameter list that ends the line.
_PARAMETERS = re.compile(
    r"""
    (?P<indent>[ \t]*+)
    (?! (?: if|elif|else|for|while|do|switch|match|loop|try|catch|except|case|with|using|return
      | assert|raise|throw|from|import|await|yield|del|new|not|and|or|in|is|print ) \b )
    (?P<type> [A-Za-z_] [\w \t*&:<>,.\[\]?]*? [ \t*&] )?
    (?P<name>\w++) [ \t]*+ \( [^;={]*+ (?: (?P<brace>\{) [ \t]*+ | (?<=[),]) ) $
    """,
    re.VERBOSE,
)
# What stands right before a definition and belongs to it: decorators, attributes, comments.
_LEADING = ("@", "#", "//", "/*", "*", "--")
# Lines that end no block although they are indented less.
_NEUTRAL = ")]}{#"
_LONG_LINE = 200


@dataclass(frozen=True)
class Chunk:
    """Lines of a module.

    Attributes:
        first, last: line numbers from 1, both included.
        scope: names of the definitions around the first line, outermost first.
    """

    first: int
    last: int
    scope: tuple[str, ...]


def cut(lines: Sequence[str], size: int, overlap: int) -> list[Chunk]:
    """Cut a module's lines into chunks that cover all of them, in order.

    A definition begins a new chunk when the one before has at least `size // 4` lines; a chunk
    that grows to `size` lines ends there, and the next one repeats its last `overlap` lines.

    Args:
        size: lines a chunk has at the most, ≥ 1.
        overlap: lines, from 0 to size - 1.
    """
    scopes: list[tuple[str, ...]] = []
    chunks: list[Chunk] = []
    start = lead = 0
    for i, (defines, leads, scope) in enumerate(_outline(lines)):
        scopes.append(scope)
        if defines and lead - start >= max(1, size // 4):
            chunks.append(Chunk(start + 1, lead, scopes[start]))
            start = lead
        elif i - start >= size:
            chunks.append(Chunk(start + 1, i, scopes[start]))
            start = i - overlap
        if not leads:
            lead = i + 1
    if lines:
        chunks.append(Chunk(start + 1, len(lines), scopes[start]))
    return chunks


def _outline(lines: Sequence[str]) -> Iterator[tuple[bool, bool, tuple[str, ...]]]:
    """For each line: whether a definition starts there, whether it may stand before one and belong
    to it, and the names of the definitions around it.
    """
    around: list[tuple[int, str]] = []
    scope: tuple[str, ...] = ()
    for line in lines:
        body = line.lstrip()
        if not body:  # an empty line ends nothing
            yield False, False, scope
            continue
        head = line[:_LONG_LINE]
        indent = len(line) - len(body)
        leads = body.startswith(_LEADING)
        if around and around[-1][0] >= indent and indent < len(head) and body[0] not in _NEUTRAL:
            while around and around[-1][0] >= indent:
                around.pop()
            scope = tuple(name for _, name in around)
        name = ""
        # The conditions, which most lines fail, are cheaper than patterns that try and fail.
        if indent >= len(head):
            pass
        elif "a" <= body[0] <= "z" and (found := _KEYWORD.match(head)):
            name = found["name"]
        elif head[-1] in "),{ \t" and "(" in head:
            name = _with_parameters(head)
        yield bool(name), leads, scope
        if name:
            around.append((indent, name))
            scope = (*scope, name)


def _with_parameters(line: str) -> str:
    """The name that a line begins to define without a keyword, or nothing."""
    found = _PARAMETERS.match(line)
    if found and (found["brace"] or (found["type"] and not found["indent"])):
        return found["name"]
    return ""
