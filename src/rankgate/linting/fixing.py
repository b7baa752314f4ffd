"""`rankgate check --fix`: what is safe to mend without a person."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankgate.errors import one_line
from rankgate.files import JsonObject, parse_json, read_bytes, write_text
from rankgate.files import decode as decode_text
from rankgate.linting.subject import quoted
from rankgate.query_edits import (
    Layout,
    drop_repeats,
    layout_of,
    raw_queries,
    rename_modules,
    strip_blanks,
)


def fix(path: Path, codes: set[str], moved: Mapping[str, str]) -> tuple[list[str], bool]:
    """Mend a query file in place, in its own layout.

    A file in which an object has a key twice is left alone: what it says is for a person.

    Args:
        codes: which of Q016, Q017 and Q101 to mend.
        moved: module that the corpus lacks → the one with the same bytes.

    Returns:
        a line for each thing done, and whether the file changed.

    Raises:
        InputError: the file is no JSON.
    """
    content = read_bytes(path)
    text = decode_text(content, path)
    value = parse_json(text, path)
    if _has_double_keys(value):
        return [f"{path}: nothing mended, for an object has a key twice"], False
    original = content.decode("utf-8")
    layout = layout_of(original, value)
    done = []
    for place, query in enumerate(raw_queries(value), start=1):
        name = query.get("id")
        shown = quoted(name) if isinstance(name, str) and name else str(place)
        lines = strip_blanks(query) if "Q017" in codes else []
        lines += drop_repeats(query) if "Q016" in codes else []
        lines += rename_modules(query, moved) if "Q101" in codes else []
        done += [one_line(f"{path}: query {shown}: {line}", 500) for line in lines]
    changed = bool(done)
    if changed:
        if layout is None:
            done.append(f"{path}: written anew with two spaces a level; it had a layout of its own")
        write_text(path, (layout or Layout()).dump(value))
    return done, changed


def _has_double_keys(value: Any) -> bool:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, JsonObject):
            if item.duplicates:
                return True
            todo += item.values()
        elif isinstance(item, list):
            todo += item
    return False
