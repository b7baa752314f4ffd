"""Reports for people, in Markdown that reads well in a terminal and on a code host."""

from collections.abc import Mapping, Sequence
from typing import Any

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
        _inputs(inputs),
        "## Metrics",
        metrics_table(metrics),
        f"Gates are judged apart, so that a changed floor leaves this page alone: see "
        f"`verdicts/{name}.md`, or both by `rankgate report {name}`.",
        "## Queries",
        _diagnoses(queries),
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
    rows = []
    deepest = max((max(cutoffs_of(metrics)) for metrics in cells.values()), default=5)
    columns = [f"recall_at_{deepest}", "mrr", f"ndcg_at_{deepest}", "hit_rate", "faithfulness"]
    columns += [f"judged_at_{deepest}", "failures", "context_tokens", "token_reduction"]
    for name, metrics in cells.items():
        repo, _, retriever = name.partition("/")
        row = [escape(repo), escape(retriever), str(metrics["queries"])]
        row += [number(metrics.get(column)) for column in columns]
        if verdicts is not None:
            row.append(_VERDICTS[verdicts.get(name)])
        rows.append(row)
    head = ["repo", "retriever", "queries", *(_title(column) for column in columns)]
    if verdicts is not None:
        head.append("gates")
    return f"# All cells\n\n{table(head, rows)}\n"


_VERDICTS = {True: "pass", False: "FAIL", None: "—"}


def _title(metric: str) -> str:
    return metric.replace("_at_", "@").replace("_", " ")


def _inputs(inputs: Mapping[str, Any]) -> str:
    system = inputs["retriever"]
    options = ", ".join(f"{key}: {value}" for key, value in system["options"].items())
    rows = [
        ["retriever", f"{code(system['class'])} {escape(system['version'])}"],
        ["its options", escape(options or "none")],
        *([escape(key), escape(value)] for key, value in inputs.items() if key != "retriever"),
    ]
    return table(["made from", ""], rows)


def metrics_table(metrics: Mapping[str, Any]) -> str:
    """A cell's metrics, over all queries and for each shape."""
    shapes = metrics["shape"]
    rows = [
        [_title(name), number(metrics.get(name)), *(number(s.get(name)) for s in shapes.values())]
        for name in metric_names(cutoffs_of(metrics))
    ]
    return table(["", "all", *map(escape, shapes)], rows)


def _diagnoses(queries: Sequence[Any]) -> str:
    counts: dict[str, int] = {}
    for query in queries:
        counts[query["diagnosis"]] = counts.get(query["diagnosis"], 0) + 1
    shown = ", ".join(f"{counts[word]} {word}" for word in sorted(counts, key=_SEVERITY.index))
    return f"{len(queries)} queries: {shown}. The worst first."


_SEVERITY = ("failed", "miss", "late", "incomplete", "outranked", "fact-lost", "ok")


def _worst_first(query: Mapping[str, Any]) -> tuple[int, str]:
    return _SEVERITY.index(query["diagnosis"]), query["id"]


def _query(query: Mapping[str, Any]) -> str:
    measures = query["measures"]
    deepest = max(cutoffs_of(measures))
    shown = [f"recall_at_{deepest}", "mrr", f"ndcg_at_{deepest}", "fact_recall"]
    numbers = ", ".join(f"{_title(name)} {number(measures.get(name))}" for name in shown)
    parts = [
        f"### {escape(query['id'])}: {query['diagnosis']}",
        f"{escape(query['question'][:500])}",
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
    return table(["rank", "module", "grade"], rows) if rows else "Nothing came back."


def _fact(fact: Mapping[str, Any]) -> str:
    verdict = "contradicted" if fact["contradicted"] else "supported"
    if not fact["contradicted"] and not fact["supported"]:
        verdict = "not in the context"
    line = f"- {verdict}: {escape(fact['fact'])}"
    if evidence := fact["evidence"]:
        lines = f"{evidence['start_line']}-{evidence['end_line']}"
        line += f" ({code(evidence['module'] + ':' + lines)})"
    return line
