"""Proposals from headings of README and documentation pages."""

import re
from collections.abc import Iterator, Sequence

from rankgate.mining.proposals import Proposal, likely_grades
from rankgate.mining.symbols import sentences_of
from rankgate.trees import Tree

_MARKED = re.compile(r"#{1,6}[ \t]+(?P<heading>[^#\s].*)")
_UNDERLINE = re.compile(r"[=~^-]{3,}\s*")
# Headings that stand in every README and ask nothing.
_USUAL = re.compile(
    r"(install|licen[cs]e|contribut|change ?log|credits|authors?|badges?|table of contents|links?|"
    r"getting started|quick ?start|usage|example|requirements|donat|support|community)",
    re.I,
)


def mine(pages: Tree, code: Tree) -> Iterator[Proposal]:
    """A proposal a section whose words point at few modules.

    Args:
        pages: the documentation: .md, .rst and .txt files.
        code: the modules that may answer.
    """
    for page in pages.paths:
        for line, heading, body in _sections(pages.lines(page)):
            sentences = sentences_of(body)
            if _USUAL.match(heading) or not sentences or not heading.isprintable():
                continue
            grades = likely_grades(f"{heading} {' '.join(sentences)}", code)
            if not grades:
                continue
            yield Proposal(
                origin="docs",
                source=f"{page}:{line}: {heading}",
                question=f"{heading}: how is this done? {sentences[0]}",
                grades=grades,
                facts=dict.fromkeys(sentences[:3], ""),
                evidence={},
            )


def _sections(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Each heading's line number and text, and what stands below it, without blocks of code."""
    number, heading, body = 0, "", list[str]()
    fenced = False
    for at, line in enumerate(lines, start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced:
            continue
        marked = _MARKED.match(line)
        underlined = bool(body and body[-1].strip() and _UNDERLINE.fullmatch(line))
        if marked is None and not underlined:
            body.append(line)
            continue
        following = "" if marked else body.pop()
        if heading:
            yield number, heading, "\n".join(body)
        number = at if marked else at - 1
        heading = " ".join((marked["heading"].rstrip("# \t") if marked else following).split())
        body = []
    if heading:
        yield number, heading, "\n".join(body)
