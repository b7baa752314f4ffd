"""`rankgate export`."""

import argparse
from pathlib import Path

from rankgate.cli.shared import read_run_file
from rankgate.errors import InputError, one_line

SUMMARY = "write a query file and its corpus, or a run, for other tools"
EXAMPLES = (
    "export beir data/queries/requests.json --corpus work/corpus/requests --out beir/requests",
    "export mteb data/queries/requests.json --corpus work/corpus/requests --out mteb/requests",
    "export qrels data/queries/requests.json --out requests.qrels",
    "export run results/requests/bm25/run.trec --out bm25.run --tag bm25",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", choices=("beir", "mteb", "qrels", "run"), metavar="FORMAT")
    parser.add_argument(
        "source", type=Path, metavar="SOURCE", help="a query file; run: a run or answers.jsonl"
    )
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="beir, mteb: its modules")
    parser.add_argument("--out", type=Path, required=True, help="the new folder, or the file")
    parser.add_argument("--split", default="test", help="beir, mteb: of the qrels (default: test)")
    parser.add_argument("--tag", default="rankgate", help="run: its last column")


def run(arguments: argparse.Namespace) -> int:
    from rankgate.files import write_text

    if arguments.format == "run":
        from rankgate.exchange.exporting import with_documents
        from rankgate.trec import format_run

        if arguments.tag.split() != [arguments.tag]:
            raise InputError(f"--tag {one_line(arguments.tag, 40)!r}: expected a word")
        answers = map(with_documents, read_run_file(arguments.source))
        write_text(arguments.out, format_run(answers, arguments.tag))
        return 0
    from rankgate.exchange.exporting import export_collection, grades_of, read_titles
    from rankgate.queries import load_queries

    if arguments.format == "qrels":
        from rankgate.exchange.qrels import format_qrels

        write_text(arguments.out, format_qrels(grades_of(load_queries(arguments.source))))
        return 0
    from rankgate.exchange.beir import write_beir, write_mteb
    from rankgate.stage import warn
    from rankgate.trees import open_tree

    if arguments.corpus is None:
        raise InputError(f"export {arguments.format}: needs --corpus, whose modules are documents")
    if not arguments.split.isidentifier():
        raise InputError(f"--split {one_line(arguments.split, 40)!r}: expected a name such as test")
    if arguments.out.exists():
        raise InputError(f"--out: {one_line(arguments.out)} is there already; name a new folder")
    tree = open_tree(arguments.corpus, "--corpus")
    queries = load_queries(arguments.source, modules=tree.paths)
    collection, odd = export_collection(queries, tree, read_titles(arguments.corpus))
    if odd:
        warn([f"{odd} modules are no UTF-8; U+FFFD stands for their odd bytes"])
    write = write_beir if arguments.format == "beir" else write_mteb
    write(arguments.out, collection, arguments.split)
    print(f"{len(collection.documents)} documents, {len(collection.questions)} queries")
    return 0
