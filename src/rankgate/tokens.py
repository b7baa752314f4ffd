"""Counting tokens with a real byte-pair encoding, so that contexts of all systems compare."""

from functools import cache
from typing import Any

ENCODING = "o200k_base"


@cache
def _encoding() -> Any:
    # Imported late: the tables take a moment to load, and most commands count nothing.
    import bpe_openai

    return bpe_openai.get_encoding(ENCODING)


def count_tokens(text: str) -> int:
    """Tokens of `text` in the encoding named by `ENCODING`."""
    return len(_encoding().encode_ordinary(text)) if text else 0
