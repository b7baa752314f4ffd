"""Fusion of retrievers that answer as their settings say."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from test_bm25 import corpus_of, modules

from rankgate.answers import Hit, Retrieved
from rankgate.components import make
from rankgate.config import Component
from rankgate.corpus import Corpus
from rankgate.errors import InputError
from rankgate.retrievers.hybrid import Hybrid

FILES = {f"{name}.py": "".join(f"{name} {i}\n" for i in range(1, 9)) for name in "wxyz"}


class Fixed:
    """Answers always the same."""

    version = "7"

    def __init__(self, *, hits: Sequence[Sequence[Any]] = ()) -> None:
        self.hits = tuple(Hit(*hit) for hit in hits)

    def build(self, corpus: Corpus, index: Path) -> None:
        (index / "built").write_text(" ".join(corpus.paths))

    def open(self, corpus: Corpus, index: Path) -> None:
        assert (index / "built").exists()

    def ask(self, question: str, k: int) -> Retrieved:
        return Retrieved(self.hits, "")


class Prepared(Fixed):
    """Needs resources."""

    def prepare(self, resources: Path) -> None:
        (resources / "model").write_text("weights")

    def use(self, resources: Path) -> None:
        self.model = (resources / "model").read_text()


class WithPieces(Fixed):
    """Knows better pieces for a context than its hits."""

    def pieces(self, question: str, modules: Sequence[str]) -> list[Hit]:
        return [Hit("y.py", 2, 5, 6), Hit("x.py", 1, 1, 1), Hit("z.py", 0, 1, 1)]


def part(*hits: Sequence[Any], kind: type = Fixed, **options: Any) -> dict[str, Any]:
    return {"_target_": f"{kind.__module__}.{kind.__name__}", "hits": list(hits), **options}


def opened(tmp_path: Path, parts: Mapping[str, Mapping[str, Any]], **options: Any) -> Hybrid:
    corpus = corpus_of(tmp_path / "corpus", FILES)
    index = tmp_path / "index"
    index.mkdir()
    hybrid = Hybrid(parts=parts, **options)
    hybrid.build(corpus, index)
    hybrid.open(corpus, index)
    return hybrid


def scores(found: Retrieved) -> dict[str, float]:
    return {hit.module: hit.score for hit in found.hits}


def test_rrf_sums_reciprocal_ranks(tmp_path: Path) -> None:
    one, two = part(("x.py", 9), ("y.py", 1)), part(("y.py", 0.2), ("z.py", 0.1))
    found = opened(tmp_path, {"one": one, "two": two}, method="rrf").ask("?", 5)
    assert scores(found) == {
        "y.py": pytest.approx(1 / 62 + 1 / 61, abs=1e-6),
        "x.py": pytest.approx(1 / 61, abs=1e-6),
        "z.py": pytest.approx(1 / 62, abs=1e-6),
    }
    assert modules(found)[0] == "y.py"


def test_sum_stretches_the_scores_of_each_part(tmp_path: Path) -> None:
    # one: x 1, y (5 - 3) / (7 - 3) = ½, z 0; two, of weight 0.8: y 0.8, w 0.
    one = part(("x.py", 7), ("y.py", 5), ("z.py", 3))
    two = part(("y.py", 40), ("w.py", 20), weight=0.8)
    found = opened(tmp_path, {"one": one, "two": two}, method="sum").ask("?", 5)
    assert [(hit.module, hit.score) for hit in found.hits] == [
        ("y.py", 1.3),
        ("x.py", 1.0),
        ("w.py", 0.0),
        ("z.py", 0.0),
    ]


def test_sum_gives_1_to_modules_of_one_score(tmp_path: Path) -> None:
    found = opened(tmp_path, {"one": part(("x.py", -2))}, method="sum").ask("?", 5)
    assert scores(found) == {"x.py": 1.0}


def test_later_hits_in_a_module_do_not_count(tmp_path: Path) -> None:
    one = part(("x.py", 5, 1, 2), ("x.py", 4, 3, 4), ("y.py", 3, 1, 2))
    found = opened(tmp_path, {"one": one}, method="rrf").ask("?", 5)
    assert scores(found)["y.py"] == pytest.approx(1 / 62, abs=1e-6)


def test_equal_scores_are_ordered_by_path(tmp_path: Path) -> None:
    parts = {"one": part(("z.py", 1)), "two": part(("x.py", 1))}
    assert modules(opened(tmp_path, parts).ask("?", 5)) == ["x.py", "z.py"]


def test_only_k_modules_come_back(tmp_path: Path) -> None:
    parts = {"one": part(("x.py", 3), ("y.py", 2), ("z.py", 1))}
    assert modules(opened(tmp_path, parts).ask("?", 2)) == ["x.py", "y.py"]


def test_depth_cuts_what_a_part_returns(tmp_path: Path) -> None:
    parts = {"one": part(("x.py", 3), ("y.py", 2), ("z.py", 1))}
    assert modules(opened(tmp_path, parts, depth=1).ask("?", 1)) == ["x.py"]
    assert len(Hybrid(parts=parts, depth=1).version) == len("one: 7")


def test_paths_of_parts_are_normalised_and_strangers_dropped(tmp_path: Path) -> None:
    parts = {"one": part(("./x.py", 2), ("no/such.py", 1))}
    assert modules(opened(tmp_path, parts).ask("?", 5)) == ["x.py"]


def test_hit_that_both_parts_have_stands_there_once(tmp_path: Path) -> None:
    one, two = part(("x.py", 2, 1, 3)), part(("x.py", 9, 1, 3), ("x.py", 8, 5, 6))
    found = opened(tmp_path, {"one": one, "two": two}).ask("?", 5)
    assert [(hit.start_line, hit.end_line) for hit in found.hits] == [(1, 3), (5, 6)]


def test_context_has_the_lines_of_the_hits_or_else_their_text(tmp_path: Path) -> None:
    one = part(("x.py", 3, 2, 3), ("y.py", 2, 0, 0, "some text"), ("z.py", 1))
    context = opened(tmp_path, {"one": one}).ask("?", 5).context
    assert context.startswith("x.py:2-3\nx 2\nx 3\n\ny.py\nsome text\n\nz.py:1-8\nz 1\n")


def test_context_has_the_pieces_of_parts_that_know_better(tmp_path: Path) -> None:
    # one alone has x.py:2-2, at rank 1: 1/61. two has y.py:5-6 at 1 and x.py:1-1 at 2, at half
    # the weight; its z.py is among no hits.
    one = part(("x.py", 3, 2, 2))
    two = part(("y.py", 1, 1, 1), kind=WithPieces, weight=0.5)
    context = opened(tmp_path, {"one": one, "two": two}).ask("?", 5).context
    assert context == "x.py:2-2\nx 2\n\ny.py:5-6\ny 5\ny 6\n\nx.py:1-1\nx 1\n\n"


def test_nothing_found_is_an_empty_answer(tmp_path: Path) -> None:
    found = opened(tmp_path, {"one": part(), "two": part()}).ask("?", 5)
    assert (found.hits, found.context) == ((), "")


def test_parts_keep_their_resources_and_indexes_apart(tmp_path: Path) -> None:
    hybrid = Hybrid(parts={"one": part(kind=Prepared), "two": part()})
    resources, index = tmp_path / "resources", tmp_path / "index"
    resources.mkdir()
    index.mkdir()
    hybrid.prepare(resources)
    hybrid.use(resources)
    hybrid.build(corpus_of(tmp_path / "corpus", FILES), index)
    assert (resources / "one" / "model").read_text() == "weights"
    assert sorted(path.name for path in index.iterdir()) == ["one", "two"]


def test_version_names_the_parts() -> None:
    assert Hybrid(parts={"one": part(), "two": part()}).version == "one: 7, two: 7"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"parts": {}}, "parts: expected at least one retriever"),
        ({"parts": {"../a": part()}}, "parts: '../a': a name has letters"),
        ({"parts": {"one": {"weight": 1}}}, "parts: one._target_: is missing"),
        ({"parts": {"one": part(weight=0)}}, "parts: one.weight: expected a number > 0, got 0"),
        ({"parts": {"one": part(weight="1")}}, "parts: one.weight: expected a number >= 0"),
        ({"parts": {"one": part(speed=1)}}, "parts: one.speed: unknown key"),
        ({"parts": {"one": {"_target_": "no.such.Class"}}}, "parts: one._target_: cannot import"),
        ({"parts": {"one": part()}, "method": "max"}, "method: expected one of rrf, sum"),
        ({"parts": {"one": part()}, "rrf_k": -1}, "rrf_k: expected a number >= 0, got -1"),
        ({"parts": {"one": part()}, "depth": 0}, "depth: expected an integer >= 1, got 0"),
    ],
)
def test_setting_that_is_wrong_is_named(options: dict[str, Any], problem: str) -> None:
    target = f"{Hybrid.__module__}.{Hybrid.__name__}"
    with pytest.raises(InputError, match=f"retriever.mine.{problem}"):
        make(Component(target, options), "retriever.mine")
