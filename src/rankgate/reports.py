"""Reports for people, in Markdown that reads well in a terminal and on a code host."""

from collections.abc import Mapping, Sequence
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
    cells: Mapping[str, Mapping[str, Any]], verdicts: Mapping[str, bool] | None = None
) -> str:
    """All cells side by side; with verdicts, whether each passes its gates.

    Args:
        cells: `<repo>/<retriever>` → the cell's metrics.json.
    """
    deepest = max((max(cutoffs_of(metrics)) for metrics in cells.values()), default=5)
    quality = [f"recall_at_{deepest}", "mrr", f"ndcg_at_{deepest}", "hit_rate", "faithfulness"]
    cost = ["failures", f"judged_at_{deepest}", "context_tokens", "token_reduction"]
    gates = {name: [_VERDICTS[verdicts.get(name)]] for name in cells} if verdicts else {}
    # Two tables, for one would be wider than a terminal.
    tables = [_cells_table(cells, ["queries", *quality], gates), _cells_table(cells, cost, {})]
    return "\n\n".join(["# All cells", *tables]) + "\n"


def _cells_table(
    cells: Mapping[str, Mapping[str, Any]],
    columns: Sequence[str],
    gates: Mapping[str, Sequence[str]],
) -> str:
    head = ["cell", *map(_title, columns), *(["gates"] if gates else [])]
    rows = [
        [escape(name), *(number(metrics.get(c)) for c in columns), *gates.get(name, ())]
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
