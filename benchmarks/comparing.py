"""What a comparison costs: 10 repos × 4 retrievers × 40 queries, 10,000 resamples.

Prints seconds and the ratio to scipy's own bootstrap and permutation test on the same numbers; at
most 3 seconds are allowed.
"""

import sys
import time

import numpy as np
from scipy import stats

from rankgate.compare.cells import Answered, Cell
from rankgate.compare.comparison import compare
from rankgate.config import CompareSettings

MOST_SECONDS = 3.0
RULES = CompareSettings()


def cells(random: np.random.Generator) -> dict[str, Cell]:
    inputs = {"corpus": "c", "query_file": "q", "judge": "n15 1", "k": 5}
    made = {}
    for repo in range(10):
        for retriever in range(4):
            name = f"repo{repo}/retriever{retriever}"
            queries = {}
            for number in range(40):
                values = dict(zip(RULES.measures, random.random(4).round(3).tolist(), strict=True))
                queries[f"q{number}"] = Answered(
                    id=f"q{number}",
                    question="a question",
                    shape="focused",
                    diagnosis="ok",
                    grades="g",
                    facts="f",
                    values=values | {"hit_rate": 1.0},
                    ranking={"a.py": 3},
                    missing={},
                    supported={},
                )
            made[name] = Cell(name, inputs, queries)
    return made


def main() -> int:
    random = np.random.default_rng(0)
    before, after = cells(random), cells(random)
    started = time.perf_counter()
    compare(before, after, RULES)
    ours = time.perf_counter() - started

    pairs = [
        np.array(
            [
                after[name].queries[q].values[measure] - before[name].queries[q].values[measure]
                for q in before[name].queries
            ]
        )
        for name in list(before)[:2]
        for measure in RULES.measures
    ]
    started = time.perf_counter()
    for d in pairs:
        stats.bootstrap((d,), np.mean, n_resamples=10_000, method="BCa", rng=random)
        stats.permutation_test(
            (d,),
            lambda x, axis: x.mean(axis=axis),
            permutation_type="samples",
            n_resamples=10_000,
            rng=random,
        )
    peer = (time.perf_counter() - started) * len(before) / 2
    print(
        f"compare, 40 cells × 4 measures: {ours:.2f} s (at most {MOST_SECONDS:g}), "
        f"{ours / peer:.2f} × scipy's time: {'ok' if ours <= MOST_SECONDS else 'MISSED'}"
    )
    return 0 if ours <= MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
