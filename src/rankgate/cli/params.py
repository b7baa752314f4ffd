"""`rankgate params`."""

import argparse
import sys

from rankgate.errors import InputError

SUMMARY = "write params.yaml as conf/ composes it"
EXAMPLES = (
    "params",
    "params 'repo=[requests]' k=10",
    "params --check",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDE", help="Hydra overrides")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when it is not")


def run(arguments: argparse.Namespace) -> int:
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
