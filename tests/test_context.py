"""Packing pieces of modules into a context."""

from rankgate.retrievers.context import Piece, pack
from rankgate.tokens import count_tokens

LINES = ["one", "two", "three", "four"]


def test_pieces_stand_in_their_order_under_their_places() -> None:
    packed = pack([Piece("b.py", 3, LINES[:2]), Piece("a.py", 1, LINES[2:])], 100)
    assert packed == "b.py:3-4\none\ntwo\n\na.py:1-2\nthree\nfour\n\n"


def test_no_line_stands_there_twice() -> None:
    middle = Piece("a.py", 2, LINES[1:3])
    whole = Piece("a.py", 1, LINES)
    packed = pack([middle, whole, whole], 100)
    assert packed == "a.py:2-3\ntwo\nthree\n\na.py:1-1\none\n\na.py:4-4\nfour\n\n"


def test_piece_without_line_numbers_stands_under_its_module() -> None:
    assert pack([Piece("a.py", 0, LINES[:2])], 100) == "a.py\none\ntwo\n\n"


def test_piece_that_does_not_fit_gives_its_first_lines() -> None:
    piece = Piece("a.py", 1, [f"line number {i}" for i in range(64)])
    packed = pack([piece], 60)
    # 64 and 32 and 16 lines are too many for 60 tokens at 4 or more a line, 8 are not.
    assert packed.startswith("a.py:1-8\nline number 0\n")
    assert count_tokens(packed) <= 60


def test_rest_of_a_piece_that_did_not_fit_may_come_later() -> None:
    piece = Piece("a.py", 1, [f"line number {i}" for i in range(64)])
    packed = pack([piece, piece], 110)
    assert packed.startswith("a.py:1-16\n")
    assert "\na.py:17-" in packed
    assert count_tokens(packed) <= 110


def test_no_tokens_give_no_context() -> None:
    assert pack([Piece("a.py", 1, LINES)], 0) == ""
