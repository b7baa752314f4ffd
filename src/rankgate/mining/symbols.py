"""Proposals from what the code says of itself: docstrings and comments before a declaration."""

import ast
import re
from collections.abc import Iterator, Sequence

from rankgate.mining.proposals import Proposal
from rankgate.queries import ESSENTIAL
from rankgate.trees import Tree

_MAX_EVIDENCE = 25
_MAX_DECLARATION = 1000  # of a line of minified code
_NO_QUESTION = re.compile(r"(this|these|it|note|see|todo|fixme|internal|if|e\.g\.)\b", re.I)
_MIN_WORDS = 5
_CODE = frozenset("{}<>;=|")  # a sentence with one of these is code, or talks in it
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'])")
_LINE_COMMENT = re.compile(r"[ \t]*//[/!]? ")
_NAME = re.compile(
    r"\b(?:class|interface|struct|enum|trait|type|function|fn|def|func|const|impl)\s+"
    r"(?:[A-Za-z_]+\s+)?([A-Za-z_$][\w$]{2,})"
    r"|\b([A-Za-z_]\w{3,})\s*\("
)
_BLOCK_ENDINGS = {
    "ts", "tsx", "mts", "cts", "js", "mjs", "cjs", "jsx", "rs", "go", "java", "c", "h", "cc", "cpp",
    "cxx", "hh", "hpp", "hxx", "cs", "kt", "kts", "swift", "php", "scala",
}  # fmt: skip


def mine(tree: Tree) -> Iterator[Proposal]:
    """A proposal for each documented public symbol: what it does, without its name."""
    for path in tree.paths:
        ending = path.rpartition(".")[2].lower()
        if ending in ("py", "pyi"):
            yield from _python(path, tree.text(path))
        elif ending in _BLOCK_ENDINGS:
            yield from _commented(path, tree.text(path))


def _python(path: str, text: str) -> Iterator[Proposal]:
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        documentation = ast.get_docstring(node, clean=False)
        if not documentation or node.name.startswith("_"):
            continue
        last = min(node.end_lineno or node.lineno, node.lineno + _MAX_EVIDENCE - 1)
        yield from _proposal(path, node.name, documentation, documentation, (node.lineno, last))


def _commented(path: str, text: str) -> Iterator[Proposal]:
    for comment, first, declaration, declared in _documented(text.split("\n")):
        named = _NAME.search(declaration)
        if named is None:
            continue
        name = named[1] or named[2]
        lines = [re.sub(r"^\s*(/\*\*?|\*/|\*|//[/!]?)\s?|\*/\s*$", "", line) for line in comment]
        documentation = "\n".join(line for line in lines if not line.lstrip().startswith("@"))
        places = (first, min(declared, first + _MAX_EVIDENCE - 1))
        yield from _proposal(path, name, documentation, "\n".join(comment), places)


def _documented(lines: Sequence[str]) -> Iterator[tuple[Sequence[str], int, str, int]]:
    """Each comment with its first line's number, the declaration behind it, and that one's.

    A comment is a block (/** … */) or line comments (///, //!, //); annotations may stand between.
    No line is looked at more than twice, whatever a file has.
    """
    start = 0
    while start < len(lines):
        end = _comment_end(lines, start)
        if end == start:
            start += 1
            continue
        declared = end
        while declared < len(lines) and lines[declared].lstrip().startswith(("@", "#[")):
            declared += 1
        if declared < len(lines):
            yield lines[start:end], start + 1, lines[declared][:_MAX_DECLARATION], declared + 1
        start = end


def _comment_end(lines: Sequence[str], start: int) -> int:
    """Past the comment that begins at a line: `start` where none does."""
    end = start
    if lines[start].lstrip().startswith("/**"):
        while end < len(lines) and "*/" not in lines[end]:
            end += 1
        return end + 1
    while end < len(lines) and _LINE_COMMENT.match(lines[end]):
        end += 1
    return end


def _proposal(
    path: str, name: str, documentation: str, quoted: str, lines: tuple[int, int]
) -> Iterator[Proposal]:
    sentences = sentences_of(documentation)
    if not sentences:
        return
    first = sentences[0].rstrip(".! ")
    named = re.search(rf"\b{re.escape(name)}\b", first, re.IGNORECASE)
    if named or _NO_QUESTION.match(first) or "deprecated" in first.lower():
        return
    place = f"{path}:{lines[0]}-{lines[1]}"
    yield Proposal(
        origin="symbols",
        source=place,
        question=_question(first),
        grades={path: ESSENTIAL},
        facts=dict.fromkeys((f"{name}: {sentence}" for sentence in sentences[:3]), place),
        evidence={path: (place,)},
        quoted=quoted,
    )


def sentences_of(text: str) -> list[str]:
    """The sentences of the first paragraphs of a documentation, whole and not too short."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text)[:3]:
        flat = " ".join(paragraph.split())
        if re.match(r"(:\w+|>>>|[-*+] |\.\. |@|```|Args?:|Returns?:|Raises?:|Example)", flat):
            continue
        found += [s for s in _SENTENCE.split(flat) if _MIN_WORDS <= len(s.split()) <= 40]
    return [s for s in found if s.isprintable() and "://" not in s and not set(s) & _CODE]


def _question(sentence: str) -> str:
    """A documentation's first sentence as somebody asks for what it describes."""
    first, _, rest = sentence.partition(" ")
    lower = _lower_first(sentence)
    if first.lower() in ("a", "an", "the", "this"):
        return f"What is {lower}?"
    if first.endswith("ed") and rest:
        return f"What is {lower}?"
    if first.endswith("s") and not first.endswith("ss"):
        return f"What {lower}?"
    return f"What is there to {lower}?"


def _lower_first(text: str) -> str:
    first = text.split(" ", 1)[0]
    keep = len(first) > 1 and first.isupper()
    return text if keep or not first.isalpha() else text[0].lower() + text[1:]
