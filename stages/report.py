"""Stage `report`: all cells of params.yaml side by side."""

from rankgate import layout
from rankgate.config import load_settings
from rankgate.files import read_json, write_text
from rankgate.reports import grid_report
from rankgate.stage import run


def main() -> None:
    settings = load_settings()
    cells = {
        f"{repo}/{retriever}": read_json(layout.results(repo, retriever) / "metrics.json")
        for repo in settings.repos
        for retriever in settings.retrievers
    }
    write_text(layout.GRID_REPORT, grid_report(cells))


if __name__ == "__main__":
    run(main)
