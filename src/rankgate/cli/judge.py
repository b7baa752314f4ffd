"""`rankgate judge`."""

import argparse
from pathlib import Path
from typing import Any

from rankgate.cli.shared import add_judge, at_terminal
from rankgate.errors import InputError

SUMMARY = 'judge lines {"id", "fact", "context"}; prints a line of JSON a fact'
EXAMPLES = ("judge facts.jsonl --judge n15",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("facts", type=Path, metavar="FACTS.jsonl", help="the facts, a line each")
    add_judge(parser)


def run(arguments: argparse.Namespace) -> int:
    from rankgate.files import dump_json, read_json_lines
    from rankgate.judges import judge_named
    from rankgate.progress import progress

    chosen = judge_named(arguments.judge)
    lines = read_json_lines(arguments.facts)
    cases = [_case(value, f"{arguments.facts}:{number}") for number, value in lines]
    # On a terminal, a bar would stand between the lines.
    judged = cases if at_terminal() else progress(cases, len(cases), "judging")
    for name, fact, context in judged:
        (verdict,) = chosen.judge("", [fact], {}, context, ()).verdicts
        evidence = verdict.evidence and vars(verdict.evidence)
        line = {
            "id": name,
            "support": verdict.support,
            "supported": verdict.supported,
            "contradicted": verdict.contradicted,
            "evidence": evidence,
        }
        print(dump_json(line, indent=None), end="")
    return 0


def _case(value: Any, where: str) -> tuple[Any, str, str]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected an object with id, fact and context")
    for key in ("fact", "context"):
        if not isinstance(value.get(key), str):
            raise InputError(f"{where}: {key}: expected a string")
    if not isinstance(value.get("id"), str | int):
        raise InputError(f"{where}: id: expected a string or an integer")
    if len(value["fact"].strip()) < 2:
        raise InputError(f"{where}: fact: expected at least 2 characters")
    return value["id"], value["fact"], value["context"]
