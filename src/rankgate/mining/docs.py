"""Proposals from headings of README and documentation pages."""

import re
from collections.abc import Iterator

from rankgate.mining.proposals import ESSENTIAL, RELEVANT, Proposal, content_terms
from rankgate.mining.symbols import sentences_of
from rankgate.trees import Tree

_HEADING = re.compile(
    r"^(?:#{1,6}\s+(?P<mark>[^\n#].*?)\s*#*|(?P<under>[^\n=~^-].*)\n[=~^-]{3,})$", re.MULTILINE
)
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
    words = {path: content_terms(code.text(path)) for path in code.paths}
    for page in pages.paths:
        text = pages.text(page)
        matches = list(_HEADING.finditer(text))
        for match, following in zip(matches, [*matches[1:], None], strict=False):
            heading = " ".join((match["mark"] or match["under"]).split())
            body = text[match.end() : following.start() if following else len(text)]
            sentences = sentences_of(re.sub(r"```.*?```", "", body, flags=re.DOTALL))
            if _USUAL.match(heading) or not sentences or not heading.isprintable():
                continue
            best = best_modules(content_terms(f"{heading} {' '.join(sentences)}"), words)
            if not best:
                continue
            line = text.count("\n", 0, match.start()) + 1
            yield Proposal(
                origin="docs",
                source=f"{page}:{line}: {heading}",
                question=f"{heading}: how is this done? {sentences[0]}",
                grades={best[0]: ESSENTIAL, **dict.fromkeys(best[1:], RELEVANT)},
                facts=dict.fromkeys(sentences[:3], ""),
                evidence={},
            )


def best_modules(terms: frozenset[str], words: dict[str, frozenset[str]]) -> list[str]:
    """The one to three modules that share clearly the most of the section's words."""
    scores = {path: len(terms & found) / (len(terms) or 1) for path, found in words.items()}
    ranked = sorted(scores, key=lambda path: (-scores[path], len(words[path]), path))
    if not ranked or scores[ranked[0]] < 0.4:
        return []
    return [path for path in ranked[:3] if scores[path] >= 0.9 * scores[ranked[0]]]
