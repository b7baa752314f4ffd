"""The `rankgate` command. Each verb works on plain files, without DVC."""

import argparse
import io
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rankgate import __version__
from rankgate.errors import InputError, exit_status, one_line


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line; 0 fine, 1 a gate fell short, 2 bad input."""
    return exit_status(lambda: _run(words))


def _run(words: Sequence[str] | None) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # no error where it cannot show a "≥"
    try:
        arguments = _parser().parse_args(words)
    except SystemExit as end:  # of argparse: help is printed, or what is wrong
        return int(end.code or 0)
    status: int = arguments.run(arguments)
    return status


def check(arguments: argparse.Namespace) -> int:
    from rankgate.queries import load_queries
    from rankgate.sources.local import local_files

    modules = None
    if arguments.corpus is not None:
        modules = _modules(arguments.corpus, local_files)
    elif arguments.ungraded == "error":
        raise InputError("--ungraded error: needs --corpus, whose modules must all have a grade")
    problems: list[str] = []
    warnings: list[str] = []
    count = 0
    try:
        queries = load_queries(arguments.queries, modules=modules, ungraded=arguments.ungraded)
        warnings, count = list(queries.warnings), len(queries.queries)
    except InputError as error:
        problems = list(error.problems)
    if arguments.json:
        _print_json({"queries": count, "errors": problems, "warnings": warnings})
    else:
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
        for problem in problems:
            print(f"error: {problem}", file=sys.stderr)
        if not problems:
            print(f"{arguments.queries}: {count} queries, no errors, {len(warnings)} warnings")
    return 2 if problems else 0


def _modules(folder: Path, local_files: Any) -> list[str]:
    """The modules of a stage's corpus, by its manifest, or of any folder: all files below."""
    from rankgate.corpus import ARCHIVE, MANIFEST, Corpus

    if (folder / MANIFEST).is_file() and (folder / ARCHIVE).is_file():
        return list(Corpus(folder).paths)
    modules = [file.path for file in local_files(folder, "--corpus") if not file.refused]
    if not modules:
        raise InputError(f"--corpus: {folder} has no file")
    return modules


def score(arguments: argparse.Namespace) -> int:
    from rankgate.judges import judge_named
    from rankgate.queries import load_queries
    from rankgate.scoring import metrics
    from rankgate.scoring import score as score_queries
    from rankgate.stage import warn

    cutoffs = _cutoffs(arguments.cutoffs, arguments.k)
    queries = load_queries(arguments.queries, relevant_grade=arguments.relevant_grade)
    answers = _read_run(arguments.run_file)
    asked, answered = [query.id for query in queries.queries], [answer.query for answer in answers]
    warn(_left_out(answered, asked, f"in {arguments.run_file} but not in {arguments.queries}"))
    warn(_left_out(asked, answered, f"without an answer in {arguments.run_file}, so zero"))
    scored = score_queries(
        queries,
        answers,
        judge_named(arguments.judge),
        cutoffs=cutoffs,
        relevant_grade=arguments.relevant_grade,
        ungraded=arguments.ungraded,
    )
    numbers = metrics(scored, cutoffs, None)
    if arguments.json:
        _print_json(numbers)
    else:
        from rankgate.reports import metrics_table

        print(metrics_table(numbers))
    return 0


def _left_out(ids: Sequence[str], others: Sequence[str], what: str) -> list[str]:
    """A warning about those of `ids` that are not among the others, if there are any."""
    known = frozenset(others)
    left_out = [name for name in ids if name not in known]
    if not left_out:
        return []
    shown = ", ".join(one_line(name, 40) for name in left_out[:3])
    return [f"{len(left_out)} queries are {what}: {shown}{', …' if left_out[3:] else ''}"]


def _cutoffs(given: str | None, k: int) -> list[int]:
    """The cutoffs asked for, or the usual ones up to k with k itself."""
    if k < 1:
        raise InputError(f"--k: expected an integer from 1 up, got {k}")
    if given is None:
        return sorted({cutoff for cutoff in (1, 3, 5) if cutoff < k} | {k})
    cutoffs = [int(word) if re.fullmatch(r"\d{1,9}", word) else 0 for word in given.split(",")]
    if not all(1 <= cutoff <= k for cutoff in cutoffs):
        raise InputError(f"--cutoffs: expected integers 1..{k} (--k), as in 1,3,5; got {given!r}")
    return sorted(set(cutoffs))


def _read_run(path: Path) -> list[Any]:
    from rankgate.answers import read_answers
    from rankgate.files import read_text
    from rankgate.trec import read_run

    # JSON by its first key: the id of a TREC run's first query may begin with a brace as well.
    is_json = re.match(r'\s*\{\s*"', read_text(path))
    return read_answers(path) if is_json else read_run(path)


def judge(arguments: argparse.Namespace) -> int:
    from rankgate.files import dump_json, read_json_lines
    from rankgate.judges import judge_named
    from rankgate.progress import progress

    chosen = judge_named(arguments.judge)
    lines = read_json_lines(arguments.facts)
    cases = [_case(value, f"{arguments.facts}:{number}") for number, value in lines]
    # On a terminal, a bar would stand between the lines.
    judged = cases if _at_terminal() else progress(cases, len(cases), "judging")
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


def report(arguments: argparse.Namespace) -> int:
    from rankgate.results import pick_cell, read_cells, show_cell, show_grid

    results, verdicts = arguments.results, arguments.verdicts
    if arguments.json:
        cells = read_cells(results, verdicts)
        _print_json(pick_cell(cells, arguments.cell, results) if arguments.cell else cells)
    elif arguments.cell:
        _print_markdown(show_cell(arguments.cell, results, verdicts))
    else:
        _print_markdown(show_grid(results, verdicts))
    return 0


def params(arguments: argparse.Namespace) -> int:
    from rankgate.composing import compose, stale_keys

    if not arguments.check:
        compose(overrides=arguments.overrides)
        return 0
    if arguments.overrides:
        raise InputError("--check: takes no overrides; it looks whether params.yaml has none")
    keys = stale_keys()
    for key in keys:
        print(f"params.yaml is not what conf/ composes: {key}", file=sys.stderr)
    return 1 if keys else 0


def fetch(arguments: argparse.Namespace) -> int:
    from rankgate.components import make
    from rankgate.config import load_settings

    settings = load_settings()
    wanted: dict[str, dict[str, Sequence[Any]]] = {
        "repo": {name: [repo.source] for name, repo in settings.repos.items()},
        "retriever": {
            name: getattr(make(chosen.component, f"retriever.{name}"), "wheels", ())
            for name, chosen in settings.retrievers.items()
        },
    }
    there = {
        group: [name for name, sources in named.items() if _fetched(sources, f"{group}.{name}")]
        for group, named in wanted.items()
    }
    complete = all(len(there[group]) == len(wanted[group]) for group in wanted)
    if arguments.targets and not complete:
        print("settings")
        for repo in there["repo"]:
            for retriever in there["retriever"]:
                print(f"gate@{repo}-{retriever}")
    return 0 if arguments.targets or complete else 2


def _fetched(sources: Iterable[Any], where: str) -> bool:
    """Whether all sources are here now; says what is left out where they cannot be reached."""
    from rankgate.errors import UnreachableError
    from rankgate.sources import fetch as fetch_source

    try:
        for source in sources:
            fetch_source(source, f"{where}.source")
    except UnreachableError as error:
        print(f"left out: {where.partition('.')[2]}: {error}", file=sys.stderr)
        return False
    return True


def conform(arguments: argparse.Namespace) -> int:
    from rankgate.config import load_options
    from rankgate.conformance import check as check_class

    sys.path.insert(0, str(Path.cwd()))  # a class of the user's own, as `python -m` would find it
    checks = check_class(arguments.target, load_options(arguments.options))
    if arguments.json:
        _print_json([check._asdict() for check in checks])
    else:
        for check in checks:
            print(f"{'pass' if check.passed else 'FAIL'}  {check.name}: {check.why}".rstrip(": "))
    return 0 if all(check.passed for check in checks) else 1


def completion(arguments: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(_parser(), arguments.shell))
    return 0


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _at_terminal() -> bool:
    return bool(sys.stdout and sys.stdout.isatty())


def _print_markdown(text: str) -> None:
    """Markdown, rendered on a terminal and as it is elsewhere."""
    if not _at_terminal():
        print(text, end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rankgate",
        description="Measure how well a code-retrieval system finds the right files.",
    )
    parser.add_argument("--version", action="version", version=f"rankgate {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    def verb(run: Any, summary: str, *examples: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(
            run.__name__,
            help=summary,
            description=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog="\n".join(["examples:", *(f"  rankgate {example}" for example in examples)]),
        )
        added.set_defaults(run=run)
        return added

    one = verb(
        check,
        "check a query file, alone or against a corpus",
        "check data/queries/sample_project.json",
        "check data/queries/sample_project.json --corpus data/sample_project",
    )
    one.add_argument("queries", type=Path, metavar="QUERIES", help="a query file")
    one.add_argument("--corpus", type=Path, metavar="DIR", help="the files that the grades name")
    _add_ungraded(one, "error: every module of the corpus needs a grade")
    one.add_argument("--json", action="store_true", help="for programs")

    one = verb(
        score,
        "score a run against a query file",
        "score --queries data/queries/requests.json --run results/requests/bm25/run.trec",
        "score --queries data/queries/requests.json --run results/requests/bm25/run.trec "
        "--k 10 --json",
    )
    one.add_argument("--queries", type=Path, metavar="FILE", required=True, help="a query file")
    one.add_argument(
        "--run",
        dest="run_file",
        type=Path,
        metavar="FILE",
        required=True,
        help="a TREC run, or the answers.jsonl of the stage retrieve",
    )
    one.add_argument("--k", type=int, default=5, help="the deepest cutoff (default 5)")
    one.add_argument("--cutoffs", metavar="K,K,…", help="default 1,3,5 up to --k, and --k")
    one.add_argument(
        "--relevant-grade",
        type=int,
        default=1,
        choices=(1, 2, 3),
        help="the lowest grade that counts as relevant (default 1)",
    )
    _add_ungraded(one, "skip: take modules without a grade out first")
    _add_judge(one)
    one.add_argument("--json", action="store_true", help="what metrics.json would hold")

    one = verb(
        judge,
        'judge lines {"id", "fact", "context"}; prints a line of JSON a fact',
        "judge facts.jsonl --judge n15",
    )
    one.add_argument("facts", type=Path, metavar="FACTS.jsonl", help="the facts, a line each")
    _add_judge(one)

    one = verb(
        report,
        "show all cells side by side, or one cell with its gates",
        "report",
        "report requests/bm25",
    )
    one.add_argument("cell", nargs="?", metavar="REPO/RETRIEVER", help="one cell")
    one.add_argument("--results", type=Path, default=Path("results"), metavar="DIR")
    one.add_argument("--verdicts", type=Path, default=Path("verdicts"), metavar="DIR")
    one.add_argument("--json", action="store_true", help="metrics and verdicts, for programs")

    one = verb(
        params,
        "write params.yaml as conf/ composes it",
        "params",
        "params 'repo=[requests]' k=10",
        "params --check",
    )
    one.add_argument("overrides", nargs="*", metavar="OVERRIDE", help="Hydra overrides")
    one.add_argument("--check", action="store_true", help="write nothing; 1 when it is not")

    one = verb(fetch, "download the sources of all repos, to go offline later", "fetch")
    one.add_argument(
        "--targets",
        action="store_true",
        help="when some cannot be reached: print the DVC targets of the others, exit with 0",
    )

    one = verb(
        conform,
        "check that a retriever keeps the promises of the seam",
        "conform my_package.my_module:MyRetriever",
        "conform rankgate.retrievers.bm25:BM25 k1=0.9 context_tokens=500",
    )
    one.add_argument("target", metavar="PACKAGE.MODULE:CLASS")
    one.add_argument("options", nargs="*", metavar="KEY=VALUE", help="its arguments, as in YAML")
    one.add_argument("--json", action="store_true", help="for programs")

    one = verb(
        completion,
        "print a completion script for a shell",
        'completion bash > "$BASH_COMPLETION_USER_DIR/completions/rankgate"',
    )
    one.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    return parser


def _add_ungraded(parser: argparse.ArgumentParser, help: str) -> None:  # noqa: A002
    parser.add_argument(
        "--ungraded",
        choices=("zero", "skip", "error"),
        default="zero",
        help=f"{help} (default: zero)",
    )


def _add_judge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--judge", metavar="NAME", default="n15", help="the judge of the facts (default: n15)"
    )


if __name__ == "__main__":
    sys.exit(main())
