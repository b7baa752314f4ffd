"""Score a cell: what came back for every query, against its ground truth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

from rankgate.answers import Answer
from rankgate.judges import Judge, Judgement
from rankgate.measures import evaluate, mean
from rankgate.metrics import EMBEDDING_METRICS, FACT_METRICS, measure_names, percentile
from rankgate.queries import ESSENTIAL, Query, QuerySet, Ungraded

DECIMALS = 6
_JUDGED = (*FACT_METRICS, *EMBEDDING_METRICS)


@dataclass(frozen=True)
class Scored:
    """One query with what came back and what that is worth.

    Attributes:
        ranking: the modules that came back, best first.
        values: measure → value; fact measures and context_tokens are None without a context.
        missing: relevant modules that did not come back, the most relevant first.
        diagnosis: one word; see `diagnose`.
    """

    query: Query
    answer: Answer
    ranking: tuple[str, ...]
    values: Mapping[str, float | None]
    missing: tuple[str, ...]
    judgement: Judgement | None
    diagnosis: str


def score(
    queries: QuerySet,
    answers: Sequence[Answer],
    judge: Judge,
    *,
    cutoffs: Sequence[int],
    relevant_grade: int = 1,
    ungraded: Ungraded = "zero",
) -> list[Scored]:
    """Every query of the file, in its order.

    A query that failed or has no answer scores zero everywhere, as trec_eval's -c does; an answer
    to no query of the file is left out. Of an answer without a context (None, as in a TREC run),
    what the judge says is unknown (None), not zero. Where no answer at all has one, neither is it
    known of the queries without an answer.
    """
    by_query = {answer.query: answer for answer in answers}
    judged = any(answer.context is not None for answer in answers)
    run = {answer.query: answer.ranking() for answer in answers if not answer.failure}
    values = evaluate(
        run, queries.qrels(), cutoffs, relevant_grade, skip_ungraded=ungraded == "skip"
    )
    return [
        _score_query(
            query,
            by_query.get(query.id, Answer(query.id, (), "" if judged else None)),
            values[query.id],
            judge,
            relevant_grade,
            ungraded,
        )
        for query in queries.queries
    ]


def _score_query(
    query: Query,
    answer: Answer,
    measures: Mapping[str, float],
    judge: Judge,
    relevant_grade: int,
    ungraded: Ungraded,
) -> Scored:
    values: dict[str, float | None] = dict(measures)
    judgement = None
    context = "" if answer.failure else answer.context
    values |= dict.fromkeys((*_JUDGED, "context_tokens"))
    if context is not None:
        values["context_tokens"] = float(answer.context_tokens)
        if query.facts:  # of relevance grades alone, what a context supports is not known
            judgement = judge.judge(
                query.question, query.facts, query.aliases, context, answer.hits
            )
            values |= {name: getattr(judgement, name) for name in _JUDGED}
    ranking = tuple(answer.ranking())
    relevant = {module: grade for module, grade in query.grades.items() if grade >= relevant_grade}
    missing = sorted(relevant.keys() - set(ranking), key=lambda module: (-relevant[module], module))
    return Scored(
        query=query,
        answer=answer,
        ranking=ranking,
        values=values,
        missing=tuple(missing),
        judgement=judgement,
        diagnosis=diagnose(query, answer, relevant_grade, judgement, ungraded),
    )


def diagnose(
    query: Query,
    answer: Answer,
    relevant_grade: int,
    judgement: Judgement | None,
    ungraded: Ungraded = "zero",
) -> str:
    """What is wrong with an answer, in a word: the first of these that holds.

    `failed`: the retriever failed on the query. `miss`: nothing relevant came back. `late`: the
    first relevant module is below rank 1. `incomplete`: an essential module did not come back.
    `outranked`: a module stands above one with a higher grade. `fact-lost`: the modules are
    right, but a fact is not in the context. Else `ok`.
    """
    ranking = answer.ranking()
    if ungraded == "skip":  # as the measures do
        ranking = [module for module in ranking if module in query.grades]
    grades = [query.grades.get(module, 0) for module in ranking]
    essential = sum(grade == ESSENTIAL for grade in query.grades.values())
    if answer.failure:
        return "failed"
    if not any(grade >= relevant_grade for grade in grades):
        return "miss"
    if grades[0] < relevant_grade:
        return "late"
    if grades.count(ESSENTIAL) < essential:
        return "incomplete"
    if grades != sorted(grades, reverse=True):
        return "outranked"
    if judgement and not all(verdict.supported for verdict in judgement.verdicts):
        return "fact-lost"
    return "ok"


def metrics(
    scored: Sequence[Scored], cutoffs: Sequence[int], corpus_tokens: int | None
) -> dict[str, Any]:
    """What metrics.json holds: means over all queries, and again for each shape.

    None where contexts (or the corpus) are lacking. Six decimals.

    Args:
        corpus_tokens: tokens of all modules; token_reduction is these over the mean context.
    """
    whole = _aggregate(scored, cutoffs, corpus_tokens)
    shapes = dict.fromkeys(one.query.shape for one in scored)
    whole["shape"] = {
        shape: _aggregate(
            [one for one in scored if one.query.shape == shape], cutoffs, corpus_tokens
        )
        for shape in sorted(shapes)
    }
    return whole


def _aggregate(
    scored: Sequence[Scored], cutoffs: Sequence[int], corpus_tokens: int | None
) -> dict[str, Any]:
    names = measure_names(cutoffs)
    means = mean([{name: one.values[name] or 0.0 for name in names} for one in scored])
    tokens = _mean_known(scored, "context_tokens")
    return {
        "queries": len(scored),
        **{name: round(means[name], DECIMALS) for name in names},
        **{name: _mean_known(scored, name) for name in _JUDGED},
        "failures": sum(bool(one.answer.failure) for one in scored),
        "context_tokens": tokens,
        "context_tokens_p95": _p95_known(scored, "context_tokens"),
        "token_reduction": _reduction(tokens, corpus_tokens),
    }


def _mean_known(scored: Sequence[Scored], name: str) -> float | None:
    """The mean over all queries, or None when it is not known of each."""
    values = _known(scored, name)
    return None if values is None else round(fsum(values) / len(values), DECIMALS)


def _p95_known(scored: Sequence[Scored], name: str) -> float | None:
    """What 95 % of the queries do not exceed, or None when it is not known of each."""
    values = _known(scored, name)
    return None if values is None else round(percentile(values, 0.95), DECIMALS)


def _known(scored: Sequence[Scored], name: str) -> list[float] | None:
    values = [value for one in scored if (value := one.values[name]) is not None]
    return values if len(values) == len(scored) else None


def _reduction(tokens: float | None, corpus_tokens: int | None) -> float | None:
    """Tokens of the corpus ÷ tokens of the mean context; 0 when nothing was handed on."""
    if tokens is None or corpus_tokens is None:
        return None
    return round(corpus_tokens / tokens, DECIMALS) if tokens else 0.0


def known(values: Mapping[str, Any]) -> dict[str, Any]:
    """`metrics` without its Nones: DVC compares finite numbers only."""
    return {
        name: known(value) if isinstance(value, dict) else value
        for name, value in values.items()
        if value is not None
    }


def record(one: Scored) -> dict[str, Any]:
    """A query's entry in queries.json."""
    judgement = one.judgement
    return {
        "id": one.query.id,
        "question": one.query.question,
        "shape": one.query.shape,
        "ground_truth": {"grades": one.query.grades_digest(), "facts": one.query.facts_digest()},
        "diagnosis": one.diagnosis,
        "failure": one.answer.failure,
        "measures": {
            name: None if value is None else round(value, DECIMALS)
            for name, value in one.values.items()
        },
        "ranking": [
            {"module": module, "grade": one.query.grades.get(module)} for module in one.ranking
        ],
        "missing": [
            {"module": module, "grade": one.query.grades[module]} for module in one.missing
        ],
        "facts": [
            {
                "fact": verdict.fact,
                "support": round(verdict.support, DECIMALS),
                "supported": verdict.supported,
                "contradicted": verdict.contradicted,
                "evidence": verdict.evidence
                and {
                    "module": verdict.evidence.module,
                    "start_line": verdict.evidence.start_line,
                    "end_line": verdict.evidence.end_line,
                },
            }
            for verdict in (judgement.verdicts if judgement else ())
        ],
        "repeated_modules": one.answer.repeats(),
        "strangers": one.answer.strangers,
    }
