"""The seam for judges: does the context support or contradict the gold facts?

A judge is a class that conf/judge/*.yaml names by `_target_`. Its name and version stand beside
every number that it made.
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from rankgate.answers import Hit
from rankgate.errors import InputError, one_line


@dataclass(frozen=True)
class Evidence:
    """Where in the corpus a verdict comes from; lines from 1, both inclusive."""

    module: str
    start_line: int
    end_line: int


@dataclass(frozen=True)
class Verdict:
    """What a judge says of one fact.

    Attributes:
        support: in [0, 1].
        evidence: None when the judge can name no place.
    """

    fact: str
    support: float
    supported: bool
    contradicted: bool
    evidence: Evidence | None = None


@dataclass(frozen=True)
class Judgement:
    """What a judge says of one query; every number is in [0, 1], answer_relevance in [−1, 1].

    The last three need an embedder and are None without one.
    """

    verdicts: tuple[Verdict, ...]
    fact_recall: float
    contradiction: float
    context_precision: float | None = None
    context_recall: float | None = None
    answer_relevance: float | None = None

    @property
    def faithfulness(self) -> float:
        """fact_recall · (1 − contradiction): the N-15 specification's definition."""
        return self.fact_recall * (1.0 - self.contradiction)


class Judge(Protocol):
    """Decides which facts a context supports or contradicts; pure and deterministic."""

    name: str
    version: str

    def judge(
        self,
        question: str,
        facts: Sequence[str],
        aliases: Mapping[str, Sequence[str]],
        context: str,
        hits: Sequence[Hit],
    ) -> Judgement:
        """Judge one query.

        Args:
            facts: the gold facts.
            aliases: fact → other wordings, any of which will do.
            context: the text that the retriever hands on; what is judged.
            hits: where the context's parts come from, for the evidence.
        """


def judge_named(name: str) -> Judge:
    """The judge of this name, with its default settings; each is a file of this package.

    Raises:
        InputError: there is none of this name.
    """
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    if name not in names:
        raise InputError(f"no judge {one_line(name, 40)!r}; there is {', '.join(names)}")
    module = importlib.import_module(f"{__name__}.{name}")
    (made,) = (made for made in vars(module).values() if getattr(made, "name", None) == name)
    return cast("Judge", made())
