"""How long scoring takes beside pytrec_eval-terrier, ir_measures and ranx, in one run.

    python benchmarks/scoring.py [--graded 20] [--repetitions 9] [--cold-ranx 3]

2,000 queries × 100 documents, the same for all, in the form that each tool takes; six measures:
recall@5, precision@5, MRR, nDCG@5 (exponential gain), hit rate and judged@5. Who has no judged@5
computes the nearest count: `num_ret` in pytrec_eval, `hits@5` in ranx. Every number is of a
fresh process; the tools take turns, and medians are compared:

- **scoring**: one call with everything imported, built and warm. What a tool keeps between
  calls is built before: pytrec_eval and ir_measures hold the qrels in their evaluators.
- **import + scoring**: from before the tool's import to its values, wall time, of data that is
  already there as dictionaries and lists: what `rankgate score` or a CI job pays. CPU beside it.
  For ranx with an empty numba cache, as on a fresh machine.
- **process**: the whole process, from its start to its end, which adds starting Python and
  unpickling the data; shown, not judged.

The exit status is 1 when a target is missed, or when the tools' values differ.
"""

# Only what costs next to nothing: a module imported here would make a peer's import look cheap.
import pickle
import sys
import time
from collections.abc import Callable
from typing import Any

QUERIES, DOCUMENTS, POOL, SEED = 2_000, 100, 500, 7
TOOLS = ("rankgate", "pytrec_eval", "ir_measures", "ranx")
# What is measured, the tool beside ours, the highest ratio of our time to its time.
TARGETS = (
    ("scoring", "pytrec_eval", 0.60),
    ("import + scoring", "pytrec_eval", 0.30),
    ("import + scoring", "ir_measures", 0.25),
    ("import + scoring", "ranx", 0.02),
)
SHARED = ("recall", "precision", "mrr", "ndcg", "hit_rate")  # all tools have these

# --- In the measured process: a function a tool that imports it and returns its scoring call ----

Values = dict[str, list[float]]  # measure → the value of each query


def rankgate(run: Any, qrels: Any) -> tuple[Callable[[], Any], Callable[[Any], Values]]:
    from rankgate.measures import evaluate

    def values(rows: Any) -> Values:
        names = ("recall_at_5", "precision_at_5", "mrr", "ndcg_at_5", "hit_rate")
        return {s: [row[n] for row in rows.values()] for s, n in zip(SHARED, names, strict=True)}

    return lambda: evaluate(run, qrels, (5,)), values


def pytrec_eval(run: Any, qrels: Any) -> tuple[Callable[[], Any], Callable[[Any], Values]]:
    from pytrec_eval import RelevanceEvaluator

    wanted = {"recall.5", "P.5", "recip_rank", "ndcg_cut.5", "success.100", "num_ret"}
    evaluator = RelevanceEvaluator(qrels, wanted)

    def values(rows: Any) -> Values:
        names = ("recall_5", "P_5", "recip_rank", "ndcg_cut_5", "success_100")
        return {s: [rows[q][n] for q in qrels] for s, n in zip(SHARED, names, strict=True)}

    return lambda: evaluator.evaluate(run), values


def ir_measures(run: Any, qrels: Any) -> tuple[Callable[[], Any], Callable[[Any], Values]]:
    import ir_measures as ir

    wanted = [ir.R @ 5, ir.P @ 5, ir.RR, ir.nDCG @ 5, ir.Success @ 100, ir.Judged @ 5]
    evaluator = ir.evaluator(wanted, qrels)

    def values(metrics: Any) -> Values:
        found = {(metric.measure, metric.query_id): metric.value for metric in metrics}
        return {
            s: [found[measure, q] for q in qrels]
            for s, measure in zip(SHARED, wanted, strict=False)
        }

    return lambda: list(evaluator.iter_calc(run)), values


def ranx(run: Any, qrels: Any) -> tuple[Callable[[], Any], Callable[[Any], Values]]:
    import warnings

    warnings.simplefilter("ignore")  # numba's, about ranx
    from ranx import evaluate

    # From dictionaries: its Run and Qrels would take longer, warm and cold.
    wanted = ["recall@5", "precision@5", "mrr", "ndcg_burges@5", "hit_rate", "hits@5"]

    def values(columns: Any) -> Values:
        return {s: columns[n].tolist() for s, n in zip(SHARED, wanted, strict=False)}

    return lambda: evaluate(qrels, run, wanted, return_mean=False), values


def measured_process(tool: str, data: str, calls: int) -> None:
    """Prints, as a pickle, the times of one tool: the first with its import, then `calls` more."""
    with open(data, "rb") as file:  # noqa: PTH123 - pathlib is one of the imports to avoid
        run, qrels = pickle.load(file)
    start, cpu_start = time.perf_counter(), time.process_time()
    score, values = globals()[tool](run, qrels)
    result = score()
    times = {
        "import + scoring": time.perf_counter() - start,
        "CPU": time.process_time() - cpu_start,
    }
    if calls:
        warm = []
        for _ in range(calls):
            start = time.perf_counter()
            result = score()
            warm.append(time.perf_counter() - start)
        times = {"scoring": sorted(warm)[calls // 2]}
    pickle.dump((times, values(result) if calls else {}), sys.stdout.buffer)


# --- In the process that compares ---------------------------------------------------------------


def write_data(folder: str, graded: int) -> dict[str, str]:
    """The same random run and qrels in each tool's form; returns tool → file."""
    from pathlib import Path
    from random import Random

    random = Random(SEED)
    names = [f"src/package{i % 17}/module_{i}.py" for i in range(POOL)]
    run = {f"q{i}": random.sample(names, DOCUMENTS) for i in range(QUERIES)}
    # Three in ten irrelevant; the graded modules are drawn apart from the ranking, so that few
    # are retrieved, and those late: the slow case for a measure that stops at the first hit.
    qrels = {
        query: {
            m: random.choice((0, 0, 0, 1, 1, 1, 1, 2, 2, 3)) for m in random.sample(names, graded)
        }
        for query in run
    }
    scores = {q: {m: float(-i) for i, m in enumerate(ranking)} for q, ranking in run.items()}
    # trec_eval's nDCG has a linear gain: it gets 2^grade − 1 as the grades.
    gains = {q: {m: 2**grade - 1 for m, grade in row.items()} for q, row in qrels.items()}
    forms = {
        "rankgate": (run, qrels),
        "pytrec_eval": (scores, gains),
        "ir_measures": (scores, gains),
        "ranx": (scores, qrels),
    }
    files = {}
    for tool, form in forms.items():
        path = Path(folder, f"{tool}.pickle")
        path.write_bytes(pickle.dumps(form))
        files[tool] = str(path)
    return files


def run_process(tool: str, data: str, calls: int, numba: str) -> tuple[dict[str, float], Values]:
    import os
    import subprocess

    environment = os.environ | {"NUMBA_CACHE_DIR": numba}
    command = [sys.executable, __file__, "--measure", tool, data, str(calls)]
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    wall = time.perf_counter() - start
    times, values = pickle.loads(done.stdout)
    return (times if calls else times | {"process": wall}), values


def main() -> int:
    import argparse
    import tempfile
    from pathlib import Path
    from statistics import median

    if sys.argv[1:2] == ["--measure"]:
        measured_process(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return 0
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graded", type=int, default=20, help="graded modules a query")
    parser.add_argument("--repetitions", type=int, default=9, help="processes per tool and column")
    parser.add_argument("--cold-ranx", type=int, default=3, help="cold starts of ranx (15 s each)")
    options = parser.parse_args()

    columns = ("scoring", "import + scoring", "CPU", "process")
    samples: dict[tuple[str, str], list[float]] = {}
    values: dict[str, Values] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = write_data(folder, options.graded)

        def take(tool: str, calls: int, numba: str) -> None:
            times, found = run_process(tool, files[tool], calls, str(Path(folder, numba)))
            for column, seconds in times.items():
                samples.setdefault((tool, column), []).append(seconds)
            if found:
                values[tool] = found

        for tool in TOOLS[:3]:
            run_process(tool, files[tool], 0, folder)  # fill the file cache, write the bytecode
        for repetition in range(options.cold_ranx):
            take("ranx", 0, f"numba{repetition}")
        for _ in range(options.repetitions):
            for tool in TOOLS[:3]:
                take(tool, 0, "numba0")
            for tool in TOOLS:
                take(tool, 9, "numba0")

    medians = {key: median(seconds) for key, seconds in samples.items()}
    print(f"{QUERIES:,} queries × {DOCUMENTS} documents, {options.graded} graded; medians in ms\n")
    print(f"| tool | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for tool in TOOLS:
        cells = [f"{1000 * medians[tool, column]:,.1f}" for column in columns]
        print(f"| {tool} | {' | '.join(cells)} |")
    print(
        "\n| rankgate's time as a share of | measured | ratio | target | |\n|---|---|---:|---:|---|"
    )
    missed = False
    for column, tool, target in TARGETS:
        ratio = medians["rankgate", column] / medians[tool, column]
        missed |= ratio > target
        verdict = "MISSED" if ratio > target else "met"
        print(f"| {tool} | {column} | {ratio:.4f} | ≤ {target:.2f} | {verdict} |")

    differ = [
        (tool, measure)
        for tool in TOOLS[1:]
        for measure in SHARED
        for mine, other in zip(values["rankgate"][measure], values[tool][measure], strict=True)
        if not abs(mine - other) <= 1e-9
    ]
    for tool, measure in sorted(set(differ)):
        print(f"\n{tool} gives other values of {measure}: the comparison is void")
    return 1 if missed or differ else 0


if __name__ == "__main__":
    sys.exit(main())
