"""Where each stage keeps what it makes, relative to the project; dvc.yaml names the same places."""

from pathlib import Path

RESULTS = Path("results")
VERDICTS = Path("verdicts")
GRID_REPORT = Path("report.md")
TIMINGS = Path("work/timings")


def corpus(repo: str) -> Path:
    """Manifest and archive of a repo's corpus."""
    return Path("work/corpus", repo)


def queries(repo: str) -> Path:
    """A repo's ground truth, checked against its corpus: questions.jsonl and ground_truth.json."""
    return Path("work/queries", repo)


def resources(retriever: str) -> Path:
    """What a retriever is made of: code.json and, for some, a model."""
    return Path("work/resources", retriever)


def index(repo: str, retriever: str) -> Path:
    """A retriever's index of a corpus."""
    return Path("work/index", repo, retriever)


def answers(repo: str, retriever: str) -> Path:
    """What a retriever returned, a line a query."""
    return Path("work/answers", repo, f"{retriever}.jsonl")


def timings(repo: str, retriever: str, stage: str) -> Path:
    """What a stage of a cell cost. No output of DVC's: dvc.lock would change with every run."""
    return TIMINGS / repo / retriever / f"{stage}.json"


def results(repo: str, retriever: str) -> Path:
    """A cell's metrics.json, queries.json, run.trec and report.md."""
    return RESULTS / repo / retriever


def verdict(repo: str, retriever: str) -> Path:
    """A cell's gates."""
    return VERDICTS / repo / f"{retriever}.json"
