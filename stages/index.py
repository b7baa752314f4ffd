"""Stage `index`: let a retriever build its index of a corpus."""

import time

from rankgate import layout
from rankgate.config import load_settings, pick
from rankgate.files import write_json
from rankgate.retrieving import build_index
from rankgate.stage import run
from rankgate.timing import peak_bytes, size_bytes


def main(repo: str, retriever: str) -> None:
    chosen = pick(load_settings().retrievers, "retriever", retriever)
    index = layout.index(repo, retriever)
    started = time.perf_counter()
    build_index(chosen, layout.corpus(repo), layout.resources(retriever), index)
    costs = {
        "index_seconds": round(time.perf_counter() - started, 6),
        "index_peak_bytes": peak_bytes(),
        "index_bytes": size_bytes(index),
    }
    write_json(layout.timings(repo, retriever, "index"), costs)


if __name__ == "__main__":
    run(main)
