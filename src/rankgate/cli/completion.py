"""`rankgate completion`."""

import argparse

SUMMARY = "print a completion script for a shell"
EXAMPLES = ('completion bash > "$BASH_COMPLETION_USER_DIR/completions/rankgate"',)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run(arguments: argparse.Namespace) -> int:
    import shtab

    from rankgate.cli import parser

    print(shtab.complete(parser(), arguments.shell))
    return 0
