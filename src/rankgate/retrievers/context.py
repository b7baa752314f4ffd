"""The context that a retriever hands on: pieces of modules within a number of tokens."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rankgate.tokens import count_tokens

# Fewer tokens are not worth the line that says where a piece is from.
_LEAST_TOKENS = 20
# Pieces that a retriever gives for the context of another.
MOST_PIECES = 30
# Text of more characters a token than this is not code to read, and slow to count.
_MANY_CHARACTERS = 16


@dataclass(frozen=True)
class Piece:
    """Lines of a module that follow one another.

    Attributes:
        first: number of the first line, from 1; 0 when unknown.
    """

    module: str
    first: int
    lines: Sequence[str]


def text_lines(text: str) -> list[str]:
    """The lines of a text, without the empty one after the last line end."""
    return text.removesuffix("\n").split("\n")


def pack(pieces: Iterable[Piece], most: int) -> str:
    """The pieces in their order, each under its place, until `most` tokens are used up.

    No line whose number is known stands there twice; the piece that does not fit gives its first
    lines.
    """
    packed: list[str] = []
    shown: set[tuple[str, int]] = set()
    for piece in pieces:
        for new in _unseen(piece, shown):
            if most < _LEAST_TOKENS:
                return "".join(packed)
            count, text, tokens = _fitting(new, most)
            packed.append(text)
            most -= tokens
            shown.update((new.module, new.first + i) for i in range(count) if new.first)
    return "".join(packed)


def _unseen(piece: Piece, shown: set[tuple[str, int]]) -> Iterator[Piece]:
    """The runs of lines in a piece that were not shown yet."""
    start = 0
    for i in range(len(piece.lines) + 1):
        if i == len(piece.lines) or (piece.first and (piece.module, piece.first + i) in shown):
            if i > start:
                first = piece.first + start if piece.first else 0
                yield Piece(piece.module, first, piece.lines[start:i])
            start = i + 1


def _fitting(piece: Piece, most: int) -> tuple[int, str, int]:
    """The first lines that fit in `most` tokens: how many, with their place as text, tokens."""
    count = len(piece.lines)
    while count:
        place = f":{piece.first}-{piece.first + count - 1}" if piece.first else ""
        text = f"{piece.module}{place}\n" + "".join(f"{s}\n" for s in piece.lines[:count]) + "\n"
        if len(text) <= most * _MANY_CHARACTERS and (tokens := count_tokens(text)) <= most:
            return count, text, tokens
        count //= 2
    return 0, "", 0
