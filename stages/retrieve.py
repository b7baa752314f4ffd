"""Stage `retrieve`: ask a retriever every question of a repo."""

import sys

from rankgate import layout
from rankgate.answers import write_answers
from rankgate.config import load_settings, pick
from rankgate.files import write_json
from rankgate.progress import progress
from rankgate.retrieving import ask_all, read_questions
from rankgate.stage import run
from rankgate.timing import of_queries


def main(repo: str, retriever: str) -> int:
    settings = load_settings()
    chosen = pick(settings.retrievers, "retriever", retriever)
    questions = read_questions(layout.queries(repo) / "questions.jsonl")
    asked = ask_all(
        chosen,
        layout.corpus(repo),
        layout.resources(retriever),
        layout.index(repo, retriever),
        questions,
        settings.k,
    )
    answers, seconds = [], {}
    for answer, took in progress(asked, len(questions), f"{repo}/{retriever}"):
        answers.append(answer)
        seconds[answer.query] = round(took, 6)
    write_answers(layout.answers(repo, retriever), answers)
    write_json(layout.timings(repo, retriever, "retrieve"), of_queries(seconds))
    failed = [answer for answer in answers if answer.failure]
    for answer in failed:
        print(f"failed: query {answer.query!r}: {answer.failure}", file=sys.stderr)
    if len(failed) <= chosen.max_failures:
        return 0
    print(
        f"error: {repo}/{retriever}: {len(failed)} of {len(answers)} queries failed, more than "
        f"retriever.{retriever}.max_failures, {chosen.max_failures}",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    run(main)
