"""Reports for people, in Markdown that reads well in a terminal and on a code host."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rankgate.errors import one_line
from rankgate.markdown import code, escape, number, table
from rankgate.metrics import cutoffs_of, metric_names


def cell_report(
    name: str, metrics: Mapping[str, Any], inputs: Mapping[str, Any], queries: Sequence[Any]
) -> str:
    """A cell's report.md: aggregate, shapes, and every query with its ranking against the expected.

    Args:
        name: `<repo>/<retriever>`.
        metrics: the cell's metrics.json.
        inputs: what its numbers depend on.
        queries: the records of its queries.json.
    """
    repo, _, retriever = name.partition("/")
    parts = [
        f"# {escape(repo)} with {escape(retriever)}",
        f"Of {len(queries)} queries:",
        _diagnoses(queries),
        # The gates are not here: a changed floor must leave this page alone.
        f"Its gates are in {code(f'verdicts/{name}.md')}; {code(f'rankgate report {name}')} shows "
        "both.",
        "## Metrics",
        metrics_table(metrics),
        "## Made from",
        _inputs(inputs),
        "## Queries, the worst first",
        "Grades: 3 essential, 2 relevant, 1 tangential, 0 irrelevant, — none given.",
        *(_query(query) for query in sorted(queries, key=_worst_first)),
    ]
    return "\n\n".join(parts) + "\n"


def grid_report(
    cells: Mapping[str, Mapping[str, Any]],
    verdicts: Mapping[str, bool] | None = None,
    costs: Mapping[str, Mapping[str, float]] | None = None,
) -> str:
    """All cells side by side: quality, what it costs, and which systems no other one beats.

    Args:
        cells: `<repo>/<retriever>` → the cell's metrics.json.
        verdicts: cell → whether it passes its gates.
        costs: cell → its costs on this machine (`rankgate.timing.of_cell`).
    """
    deepest = max((max(cutoffs_of(metrics)) for metrics in cells.values()), default=5)
    ndcg = f"ndcg_at_{deepest}"
    quality = ["queries", f"recall_at_{deepest}", "mrr", ndcg, "hit_rate", "faithfulness"]
    gates = {"gates": {name: _VERDICTS[verdicts.get(name)] for name in cells}} if verdicts else {}
    tokens = [ndcg, "context_tokens", "context_tokens_p95", "token_reduction"]
    best = unbeaten(cells, ndcg)
    marks = {name: "unbeaten" if name in best else "" for name in cells}
    # Three tables, for one would be wider than a terminal.
    parts = [
        "# All cells",
        _cells_table(cells, quality, gates),
        "Unbeaten: no other system on this repo has as high an nDCG for as few tokens.",
        _cells_table(cells, tokens, {"": marks}),
        _cells_table(
            cells, ["failures", f"judged_at_{deepest}"], _cost_columns(cells, costs or {})
        ),
    ]
    return "\n\n".join(parts) + "\n"


def unbeaten(cells: Mapping[str, Mapping[str, Any]], quality: str) -> set[str]:
    """The Pareto front of each repo: the cells that none beats on quality and context tokens."""

    def beats(one: str, other: str) -> bool:
        a, b = cells[one], cells[other]
        better = a[quality] >= b[quality] and a["context_tokens"] <= b["context_tokens"]
        equal = a[quality] == b[quality] and a["context_tokens"] == b["context_tokens"]
        return one.split("/")[0] == other.split("/")[0] and better and not equal

    known = [
        name
        for name, metrics in cells.items()
        if None not in (metrics.get(quality), metrics.get("context_tokens"))
    ]
    return {name for name in known if not any(beats(other, name) for other in known)}


_SHORT = {
    "context_tokens": "tokens",
    "context_tokens_p95": "tokens p95",
    "token_reduction": "reduction",
}
_COSTS = (
    ("index s", "index_seconds", 1.0),
    ("index MB", "index_bytes", 1e-6),
    ("peak MB", "index_peak_bytes", 1e-6),
    ("p50 ms", "p50_seconds", 1e3),
    ("p95 ms", "p95_seconds", 1e3),
)


def _cost_columns(
    cells: Iterable[str], costs: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, str]]:
    """Title → cell → value of each cost that is known of any cell."""
    return {
        title: {
            name: number(None if (cost := costs.get(name, {}).get(key)) is None else cost * scale)
            for name in cells
        }
        for title, key, scale in _COSTS
        if any(key in known for known in costs.values())
    }


def _cells_table(
    cells: Mapping[str, Mapping[str, Any]],
    columns: Sequence[str],
    more: Mapping[str, Mapping[str, str]],
) -> str:
    head = ["cell", *(_SHORT.get(column) or _title(column) for column in columns), *more]
    rows = [
        [
            escape(name),
            *(number(metrics.get(c)) for c in columns),
            *(m[name] for m in more.values()),
        ]
        for name, metrics in cells.items()
    ]
    return table(head, rows)


_VERDICTS = {True: "pass", False: "FAIL", None: "—"}


def _title(metric: str) -> str:
    return metric.replace("_at_", "@").replace("_", " ")


def _inputs(inputs: Mapping[str, Any]) -> str:
    system = inputs["retriever"]
    options = ", ".join(f"{key}: {value}" for key, value in system["options"].items())
    lines = [
        f"- retriever: {code(system['class'])} {escape(system['version'])}",
        f"- its options: {escape(options or 'none')}",
    ]
    for key, value in inputs.items():
        if key != "retriever":
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            lines.append(f"- {escape(key)}: {escape(shown)}")
    return "\n".join(lines)


def metrics_table(metrics: Mapping[str, Any]) -> str:
    """A cell's metrics, over all queries and for each shape."""
    shapes = metrics["shape"]
    rows = [
        [_title(name), number(metrics.get(name)), *(number(s.get(name)) for s in shapes.values())]
        for name in metric_names(cutoffs_of(metrics))
    ]
    return table(["metric", "all", *map(escape, shapes)], rows)


def _diagnoses(queries: Sequence[Any]) -> str:
    counts: dict[str, int] = {}
    for query in queries:
        counts[query["diagnosis"]] = counts.get(query["diagnosis"], 0) + 1
    return "\n".join(
        f"- {counts[w]} {w}: {means}" for w, means in _DIAGNOSES.items() if w in counts
    )


# The worst first.
_DIAGNOSES = {
    "failed": "the retriever failed",
    "miss": "nothing relevant came back",
    "late": "the first relevant module is below rank 1",
    "incomplete": "an essential module did not come back",
    "outranked": "a module stands above one with a higher grade",
    "fact-lost": "the modules are right, but a fact is not in the context",
    "ok": "nothing to complain about",
}
_SEVERITY = list(_DIAGNOSES)


def _worst_first(query: Mapping[str, Any]) -> tuple[int, str]:
    return _SEVERITY.index(query["diagnosis"]), query["id"]


def _query(query: Mapping[str, Any]) -> str:
    measures = query["measures"]
    deepest = max(cutoffs_of(measures))
    shown = [f"recall_at_{deepest}", "mrr", f"ndcg_at_{deepest}", "fact_recall"]
    numbers = ", ".join(f"{_title(name)} {number(measures.get(name))}" for name in shown)
    parts = [
        f"### {escape(query['id'])}: {query['diagnosis']}",
        escape(one_line(query["question"], 500)),
        f"{escape(query['shape'])}; {numbers}",
    ]
    if query["failure"]:
        parts.append(f"Failed: {escape(query['failure'])}")
    parts.append(_ranking(query))
    if facts := query["facts"]:
        parts.append("\n".join(_fact(fact) for fact in facts))
    dropped = [
        f"{query[key]} {what}"
        for key, what in (
            ("repeated_modules", "further hits in modules ranked already"),
            ("strangers", "hits that are no module of the corpus"),
        )
        if query[key]
    ]
    if dropped:
        parts.append(f"Left out: {', '.join(dropped)}.")
    return "\n\n".join(parts)


def _ranking(query: Mapping[str, Any]) -> str:
    rows = [
        [str(rank), code(entry["module"]), number(entry["grade"])]
        for rank, entry in enumerate(query["ranking"], start=1)
    ]
    rows += [["missing", code(entry["module"]), f"{entry['grade']}"] for entry in query["missing"]]
    return table(["rank", "module", "grade"], rows)


def _fact(fact: Mapping[str, Any]) -> str:
    verdict = "contradicted" if fact["contradicted"] else "supported"
    if not fact["contradicted"] and not fact["supported"]:
        verdict = "not in the context"
    line = f"- {verdict}: {escape(fact['fact'])}"
    if evidence := fact["evidence"]:
        lines = f"{evidence['start_line']}-{evidence['end_line']}"
        line += f" ({code(evidence['module'] + ':' + lines)})"
    return line
