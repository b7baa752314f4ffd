"""Stage `resources`: what a retriever is made of besides its settings; see rankgate.resources."""

from rankgate import layout
from rankgate.config import load_settings, pick
from rankgate.files import write_json
from rankgate.resources import code_of
from rankgate.stage import run


def main(retriever: str) -> None:
    chosen = pick(load_settings().retrievers, "retriever", retriever)
    code = code_of(chosen.component, f"retriever.{retriever}")
    write_json(layout.resources(retriever) / "code.json", code)


if __name__ == "__main__":
    run(main)
