"""Stage `gate`: hold a cell's metrics against the floors; exit status 1 when one is not kept."""

import sys

from rankgate import layout
from rankgate.config import load_settings
from rankgate.files import write_json, write_text
from rankgate.gates import check, gates_report, read_results, verdict
from rankgate.stage import run


def main(repo: str, retriever: str) -> int:
    floors = load_settings().gate.of(repo, retriever)
    metrics, queries = read_results(layout.results(repo, retriever))
    gates = check(floors, metrics, queries)
    path = layout.verdict(repo, retriever)
    write_json(path, verdict(gates))
    write_text(path.with_suffix(".md"), gates_report(f"{repo}/{retriever}", gates))
    failed = [gate for gate in gates if not gate.passed]
    for gate in failed:
        print(f"{repo}/{retriever}: {gate.line()}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    run(main)
