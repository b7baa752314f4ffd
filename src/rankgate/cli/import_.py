"""`rankgate import`."""

import argparse
from dataclasses import replace
from pathlib import Path

from rankgate.errors import InputError, one_line

SUMMARY = "make a repo of a BEIR or MTEB folder, or a query file of TREC qrels"
EXAMPLES = (
    "import beir datasets/scifact --name scifact",
    "import mteb datasets/scifact --name scifact --split test",
    "import qrels robust.qrels --topics topics.tsv --out queries.json --clip",
    "import run system.run --out answers.jsonl",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", choices=("beir", "mteb", "qrels", "run"), metavar="FORMAT")
    parser.add_argument("source", type=Path, metavar="SOURCE", help="the folder or file")
    parser.add_argument("--name", help="beir, mteb: the new repo's name")
    parser.add_argument("--split", default="test", help="beir, mteb: of the qrels (default: test)")
    parser.add_argument("--topics", type=Path, metavar="FILE", help="qrels: the questions")
    parser.add_argument("--out", type=Path, metavar="FILE", help="qrels, run: the file to write")
    parser.add_argument("--clip", action="store_true", help="make grades above 3 a 3")


def run(arguments: argparse.Namespace) -> int:
    if arguments.format == "run":
        return _run_file(arguments)
    if arguments.format == "qrels":
        return _qrels(arguments)
    from rankgate.exchange.beir import read_beir
    from rankgate.exchange.importing import import_collection

    if not arguments.name:
        raise InputError(f"import {arguments.format}: needs --name, the new repo's")
    if "/" in arguments.split or arguments.split.startswith("."):
        raise InputError(f"--split {one_line(arguments.split, 40)}: expected a name such as test")
    collection = read_beir(arguments.source, arguments.split)
    source = f"{arguments.source.name or arguments.source} ({arguments.split})"
    name = arguments.name
    imported = import_collection(collection, name, Path(), source, clip=arguments.clip)
    for line in imported.lines():
        print(line)
    print(f"written to data/{name}, data/queries/{name}.json and conf/repo/{name}.yaml; try it by")
    print(f"  dvc exp run -S 'repo=[{name}]' -S gate=relevance")
    return 0


def _qrels(arguments: argparse.Namespace) -> int:
    from rankgate.exchange.importing import import_qrels
    from rankgate.exchange.qrels import read_qrels, read_topics

    if arguments.topics is None or arguments.out is None:
        raise InputError("import qrels: needs --topics, the questions, and --out")
    grades, questions = read_qrels(arguments.source), read_topics(arguments.topics)
    source = arguments.source.name
    imported = import_qrels(questions, grades, arguments.out, source, clip=arguments.clip)
    for line in imported.lines():
        print(line)
    return 0


def _run_file(arguments: argparse.Namespace) -> int:
    from rankgate.answers import write_answers
    from rankgate.exchange.names import module_of
    from rankgate.trec import read_run

    if arguments.out is None:
        raise InputError("import run: needs --out")
    answers = [
        replace(
            answer,
            hits=tuple(replace(hit, module=module_of(hit.module)) for hit in answer.hits),
        )
        for answer in read_run(arguments.source)
    ]
    write_answers(arguments.out, answers)
    print(f"{len(answers)} queries")
    return 0
