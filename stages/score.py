"""Stage `score`: measure what a retriever returned against the ground truth."""

from rankgate import layout
from rankgate.answers import read_answers
from rankgate.components import make
from rankgate.config import load_settings, pick
from rankgate.files import read_json
from rankgate.queries import load_queries
from rankgate.results import write_results
from rankgate.scoring import metrics, score
from rankgate.stage import run


def main(repo: str, retriever: str) -> None:
    settings = load_settings()
    queries = load_queries(
        layout.queries(repo) / "ground_truth.json", relevant_grade=settings.relevant_grade
    )
    judge = make(settings.judge, "judge")
    manifest = read_json(layout.corpus(repo) / "manifest.json")
    ungraded = pick(settings.repos, "repo", repo).ungraded
    scored = score(
        queries,
        read_answers(layout.answers(repo, retriever)),
        judge,
        cutoffs=settings.cutoffs,
        relevant_grade=settings.relevant_grade,
        ungraded=ungraded,
    )
    inputs = {
        "corpus": manifest["fingerprint"],
        "query_file": queries.sha256,
        "judge": f"{judge.name} {judge.version}",
        "k": settings.k,
        "cutoffs": list(settings.cutoffs),
        "relevant_grade": settings.relevant_grade,
        "ungraded": ungraded,
        "token_encoding": manifest["tokens"]["encoding"],
        "retriever": read_json(layout.index(repo, retriever) / "system.json"),
    }
    numbers = metrics(scored, settings.cutoffs, manifest["tokens"]["total"])
    write_results(layout.results(repo, retriever), f"{repo}/{retriever}", scored, numbers, inputs)


if __name__ == "__main__":
    run(main)
