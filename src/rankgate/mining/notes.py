"""Proposals from notes in a text file, such as issues copied from a tracker."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from rankgate.files import read_text
from rankgate.mining.proposals import Proposal, likely_grades
from rankgate.trees import Tree

_MAX_QUESTION = 400
_RULE = re.compile(r"\s*-{3,}\s*")


def mine(notes: Path, code: Tree) -> Iterator[Proposal]:
    """A proposal a note. Notes stand apart by a line of `---` or by blank lines; the first line
    is the title.
    """
    for line, note in _notes(read_text(notes).splitlines()):
        flat = " ".join("".join(c if c.isprintable() else " " for c in note).split())
        if grades := likely_grades(flat, code):
            yield Proposal(
                origin="notes",
                source=f"{notes.name}:{line}",
                question=flat if len(flat) <= _MAX_QUESTION else f"{flat[: _MAX_QUESTION - 1]}…",
                grades=grades,
                facts={},
                evidence={},
            )


def _notes(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Each note's first line's number, and its text."""
    ruled = any(_RULE.fullmatch(line) for line in lines)
    first, note = 0, list[str]()
    for number, line in enumerate([*lines, "---" if ruled else ""], start=1):
        if _RULE.fullmatch(line) if ruled else not line.strip():
            if note:
                yield first, "\n".join(note)
            note = []
        elif note or line.strip():
            first = first if note else number
            note.append(line)
