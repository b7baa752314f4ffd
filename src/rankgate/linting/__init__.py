"""The linter of query files: what `rankgate check` finds, one small function a rule."""

from collections.abc import Iterable, Sequence

from rankgate.errors import InputError, one_line
from rankgate.linting import modules, truth, wording
from rankgate.linting.findings import CODES, ERRORS, Finding
from rankgate.linting.modules import moves
from rankgate.linting.subject import Subject
from rankgate.queries import Problem
from rankgate.trees import Tree

__all__ = ["CODES", "Finding", "Subject", "chosen", "lint", "moves"]

_OF_QUERIES = (
    truth.blanks,
    truth.allowed_codes,
    modules.provenance_places,
    truth.shape_fits,
    modules.without_provenance,
    modules.ungraded_in_pool,
    wording.names_its_answer,
    wording.unsupported_facts,
    wording.facts_without_tokens,
    wording.facts_of_irrelevant_modules,
)
_OF_FILES = (wording.near_duplicates, truth.few_queries)


def lint(
    subject: Subject,
    problems: Sequence[Problem],
    warnings: Sequence[Problem],
    old: Tree | None = None,
) -> list[Finding]:
    """All findings of a query file, in the order of its queries.

    A file with errors has these only: what its queries are meant to say is not known.

    Args:
        problems, warnings: what reading the file found.
        old: the corpus that the grades were made for.
    """
    if problems:
        proposed = (
            modules.proposals(subject, old) if any(p.code == "Q101" for p in problems) else {}
        )
        same = moves(old, subject.tree) if old and subject.tree else {}
        return [_of_problem(problem, subject.name, proposed, same) for problem in problems]
    allowed = {query.id: query.allow for query in subject.queries.queries}
    found = [_of_problem(warning, subject.name, {}, {}) for warning in warnings]
    for query in subject.queries.queries:
        for rule in _OF_QUERIES:
            found += rule(subject, query)
    for whole in _OF_FILES:
        found += whole(subject)
    return [finding for finding in found if finding.code not in allowed.get(finding.query, ())]


def _of_problem(
    problem: Problem, file: str, proposed: dict[str, tuple[str, str]], same: dict[str, str]
) -> Finding:
    code, text, fix = problem.code, problem.text, ""
    if code == "Q016":
        fix = "drop what stands there twice"
    elif code == "Q101" and problem.module in proposed:
        target, why = proposed[problem.module]
        text = f"{text}; is it {one_line(target)} now ({why})?"
        fix = f"name it {one_line(target)}" if same.get(problem.module) == target else ""
    return Finding(code, file, problem.where, problem.query, problem.field, text, fix)


def chosen(
    findings: Iterable[Finding], select: Sequence[str], ignore: Sequence[str]
) -> list[Finding]:
    """The findings whose code begins with one of `select` and none of `ignore`; errors always.

    Raises:
        InputError: a word that no code begins with, or an error's code to ignore.
    """
    for word in (*select, *ignore):
        if not word or not any(code.startswith(word) for code in CODES):
            raise InputError(f"{one_line(word, 40)!r}: no code begins so; see docs/query-files.md")
    for word in ignore:
        if word in ERRORS:
            raise InputError(f"--ignore: {word} is an error, and none can be ignored")
    return [
        finding
        for finding in findings
        if finding.severity == "error"
        or (
            (not select or finding.code.startswith(tuple(select)))
            and not finding.code.startswith(tuple(ignore))
        )
    ]
