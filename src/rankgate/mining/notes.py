"""Proposals from notes in a text file, such as issues copied from a tracker."""

import re
from collections.abc import Iterator
from pathlib import Path

from rankgate.files import read_text
from rankgate.mining.docs import best_modules
from rankgate.mining.proposals import ESSENTIAL, RELEVANT, Proposal, content_terms
from rankgate.trees import Tree

_MAX_QUESTION = 400


def mine(notes: Path, code: Tree) -> Iterator[Proposal]:
    """A proposal a note. Notes stand apart by a line of `---` or by blank lines; the first line
    is the title.
    """
    words = {path: content_terms(code.text(path)) for path in code.paths}
    text = read_text(notes)
    separator = r"^\s*-{3,}\s*$" if re.search(r"^\s*-{3,}\s*$", text, re.MULTILINE) else r"\n\s*\n"
    start = 0
    for note in [*re.split(separator, text, flags=re.MULTILINE)]:
        line = text.count("\n", 0, text.find(note, start)) + 1
        start = text.find(note, start)
        flat = " ".join("".join(c if c.isprintable() else " " for c in note).split())
        if not flat:
            continue
        best = best_modules(content_terms(flat), words)
        if best:
            yield Proposal(
                origin="notes",
                source=f"{notes.name}:{line}",
                question=flat if len(flat) <= _MAX_QUESTION else f"{flat[: _MAX_QUESTION - 1]}…",
                grades={best[0]: ESSENTIAL, **dict.fromkeys(best[1:], RELEVANT)},
                facts={},
                evidence={},
            )
