"""Counting tokens with a real byte-pair encoding, so that contexts of all systems compare."""

from collections.abc import Iterator
from functools import cache
from typing import Any

ENCODING = "o200k_base"
# The library refuses texts of over a million characters or 200,000 tokens.
_PIECE = 100_000


@cache
def _encoding() -> Any:
    # Imported late: the tables take a moment to load, and most commands count nothing.
    import bpe_openai

    return bpe_openai.get_encoding(ENCODING)


def count_tokens(text: str) -> int:
    """Tokens of `text` in the encoding named by `ENCODING`.

    A text of over 100,000 characters is counted in pieces cut at line ends, which can add a token
    a piece.
    """
    return sum(len(_encoding().encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + _PIECE
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        yield text[start:end]
        start = end
