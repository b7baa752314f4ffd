"""Stage `fixture`: freeze a repo as a corpus, and its ground truth, checked against it."""

import shutil

from rankgate import layout
from rankgate.config import load_settings, pick
from rankgate.corpus import said_counts, write_corpus
from rankgate.errors import InputError
from rankgate.files import dump_json_lines, write_bytes, write_text
from rankgate.queries import load_queries
from rankgate.sources import candidates, described
from rankgate.stage import run, warn


def main(repo: str) -> None:
    settings = load_settings()
    chosen = pick(settings.repos, "repo", repo)
    where = f"repo.{repo}"
    folder = layout.corpus(repo)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        corpus = write_corpus(
            folder,
            candidates(chosen.source, f"{where}.source"),
            where=where,
            source=described(chosen.source),
            root=chosen.root,
            include=chosen.include,
            exclude=chosen.exclude,
            tests=chosen.tests,
            generated=chosen.generated,
        )
        queries = load_queries(
            chosen.queries,
            modules=corpus.paths,
            ungraded=chosen.ungraded,
            relevant_grade=settings.relevant_grade,
        )
    except InputError:
        shutil.rmtree(folder, ignore_errors=True)  # nothing half written stays
        raise
    if corpus.left_out:
        print(f"{where}: {len(corpus.modules)} modules; left out: {said_counts(corpus.left_out)}")
    warn(queries.warnings)
    # The questions stand apart from their grades: a changed grade asks no retriever again.
    questions = ({"id": query.id, "question": query.question} for query in queries.queries)
    write_text(layout.queries(repo) / "questions.jsonl", dump_json_lines(questions))
    write_bytes(layout.queries(repo) / "ground_truth.json", chosen.queries.read_bytes())


if __name__ == "__main__":
    run(main)
