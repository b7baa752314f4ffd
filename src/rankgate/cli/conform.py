"""`rankgate conform`."""

import argparse
import sys
from pathlib import Path

from rankgate.cli.shared import print_json

SUMMARY = "check that a retriever keeps the promises of the seam"
EXAMPLES = (
    "conform my_package.my_module:MyRetriever",
    "conform rankgate.retrievers.bm25:BM25 k1=0.9 context_tokens=500",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="PACKAGE.MODULE:CLASS")
    parser.add_argument("options", nargs="*", metavar="KEY=VALUE", help="its arguments, as in YAML")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace) -> int:
    from rankgate.config import load_options
    from rankgate.conformance import check as check_class

    sys.path.insert(0, str(Path.cwd()))  # a class of the user's own, as `python -m` would find it
    checks = check_class(arguments.target, load_options(arguments.options))
    if arguments.json:
        print_json([check._asdict() for check in checks])
    else:
        for check in checks:
            print(f"{'pass' if check.passed else 'FAIL'}  {check.name}: {check.why}".rstrip(": "))
    return 0 if all(check.passed for check in checks) else 1
