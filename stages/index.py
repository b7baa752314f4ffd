"""Stage `index`: let a retriever build its index of a corpus."""

from rankgate import layout
from rankgate.config import load_settings, pick
from rankgate.retrieving import build_index
from rankgate.stage import run


def main(repo: str, retriever: str) -> None:
    chosen = pick(load_settings().retrievers, "retriever", retriever)
    build_index(chosen, layout.corpus(repo), layout.index(repo, retriever))


if __name__ == "__main__":
    run(main)
