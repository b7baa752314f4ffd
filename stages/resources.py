"""Stage `resources`: what a retriever is made of besides its settings: its code and its models."""

import shutil

from rankgate import layout
from rankgate.config import load_settings, pick
from rankgate.files import write_json
from rankgate.resources import code_of, prepare
from rankgate.stage import run


def main(retriever: str) -> None:
    chosen = pick(load_settings().retrievers, "retriever", retriever)
    code = code_of(chosen.component, f"retriever.{retriever}")
    folder = layout.resources(retriever)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    prepare(chosen, folder)
    write_json(folder / "code.json", code)


if __name__ == "__main__":
    run(main)
