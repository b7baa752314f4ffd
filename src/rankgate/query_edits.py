"""Edits of query files that keep their author's layout and order of keys."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from rankgate.queries import PLACE


@dataclass(frozen=True)
class Layout:
    """How a JSON file is written."""

    indent: int | str | None = 2
    ascii_only: bool = False
    compact: bool = False
    end: str = "\n"
    newline: str = "\n"
    mark: bool = False

    def dump(self, value: object) -> str:
        text = json.dumps(
            value,
            indent=self.indent,
            ensure_ascii=self.ascii_only,
            allow_nan=False,
            separators=(",", ":") if self.compact else None,
        )
        whole = (text + self.end).replace("\n", self.newline)
        return f"\ufeff{whole}" if self.mark else whole


def layout_of(text: str, value: object) -> Layout | None:
    """The layout that writes `value` as `text` is written; None for one made by hand.

    Args:
        text: the file, with its byte order mark if it has one.
    """
    mark = text.startswith("\ufeff")
    newline = "\r\n" if "\r\n" in text else "\n"
    ends = ("\n", "") if text.endswith("\n") else ("", "\n")
    indents: tuple[int | str | None, ...] = (2, 4, "\t", None, 1, 3)
    for indent, ascii_only, compact in product(indents, (False, True), (False, True)):
        layout = Layout(indent, ascii_only, compact, ends[0], newline, mark)
        if layout.dump(value) == text:
            return layout
    return None


def raw_queries(value: Any) -> list[dict[str, Any]]:
    """The queries of a file's JSON that are objects."""
    listed = value.get("queries") if isinstance(value, dict) else value
    return [query for query in listed or () if isinstance(query, dict)]


def rename_modules(
    query: dict[str, Any], modules: Mapping[str, str], places: Mapping[str, str] | None = None
) -> list[str]:
    """Name modules anew in a query's grades and provenance; a line for each.

    A new name that has a grade already is left alone, unless the grades are equal.

    Args:
        places: old place → new place; those that are not there move with their module.
    """
    done = []
    grades = query.get("relevance_grades")
    if not isinstance(grades, dict):
        return []
    renamed = {}
    for module in grades:
        target = modules.get(module, module)
        if module != target:
            stays = target in grades and modules.get(target, target) == target
            if stays and grades[target] != grades[module]:
                continue
            renamed[module] = target
            done.append(f"{module} is {target} now")
    query["relevance_grades"] = _with_keys(grades, renamed)
    provenance = query.get("provenance")
    if isinstance(provenance, dict):
        facts = query.get("gold_facts")
        keys = {m: t for m, t in renamed.items() if not (isinstance(facts, list) and m in facts)}
        moved = {m: t for m, t in modules.items() if m not in grades or m in renamed}
        query["provenance"] = {
            key: [_place(place, moved, places or {}) for place in found]
            if isinstance(found, list)
            else found
            for key, found in _with_keys(provenance, keys).items()
        }
        lines = _changed_lines(provenance, query["provenance"])
        if lines:
            done.append(f"{lines} places of the provenance follow")
    return done


def _with_keys(values: dict[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """The same order, with new names."""
    return {renamed.get(key, key): value for key, value in values.items()}


def _place(place: Any, modules: Mapping[str, str], places: Mapping[str, str]) -> Any:
    if not isinstance(place, str):
        return place
    if place in places:
        return places[place]
    parts = PLACE.fullmatch(place)
    if parts is None or parts[1] not in modules:
        return place
    return modules[parts[1]] + place[len(parts[1]) :]


def _changed_lines(before: dict[str, Any], after: dict[str, Any]) -> int:
    pairs = zip(before.values(), after.values(), strict=True)
    return sum(
        old != new
        for olds, news in pairs
        if isinstance(olds, list) and isinstance(news, list)
        for old, new in zip(olds, news, strict=True)
    )


def drop_repeats(query: dict[str, Any]) -> list[str]:
    """Drop what stands twice in a list of a query; a line for each list."""
    done = []
    lists: list[tuple[dict[str, Any], str, str]] = [
        (query, key, key) for key in ("gold_facts", "tags", "allow")
    ]
    for key in ("fact_aliases", "provenance"):
        if isinstance(inner := query.get(key), dict):
            lists += [(inner, name, f"{key}[{name!r}]") for name in inner]
    for holder, key, shown in lists:
        values = holder.get(key)
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            continue
        kept = list(dict.fromkeys(values))
        if len(kept) < len(values):
            holder[key] = kept
            done.append(f"{shown}: dropped {len(values) - len(kept)} that stood there twice")
    return done


def strip_blanks(query: dict[str, Any]) -> list[str]:
    """Take the blanks around question, facts and tags away; a line for each field."""
    done = []
    question = query.get("question")
    if isinstance(question, str) and question != question.strip():
        query["question"] = question.strip()
        done.append("question: took the blanks around it away")
    for field in ("gold_facts", "tags"):
        values = query.get(field)
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            continue
        stripped = {value: value.strip() for value in values if value != value.strip()}
        if not stripped:
            continue
        query[field] = [value.strip() for value in values]
        done.append(f"{field}: took the blanks around {len(stripped)} away")
        for key in ("fact_aliases", "provenance") if field == "gold_facts" else ():
            if isinstance(inner := query.get(key), dict):
                free = {old: new for old, new in stripped.items() if new not in inner}
                query[key] = _with_keys(inner, free)
    return done
