"""docs/your-repository.md, command by command, on a small repository and in a real terminal."""

import json
from pathlib import Path

from project import ROOT, Project
from terminal import Terminal
from test_docs import commands

FILES = {
    "shop/basket.py": '''"""The basket."""


class Basket:
    """Holds what a visitor wants to buy until payment.

    Entries expire after thirty days without a visit.
    """

    def add(self, article, count=1):
        """Puts articles in and merges equal ones into one entry."""
        self.entries[article] = self.entries.get(article, 0) + count
''',
    "shop/payment.py": '''"""Payments."""


def charge(card, amount):
    """Takes the money and gives back a receipt with a number.

    A declined card raises Declined and leaves the basket as it was.
    """
    return Receipt(card, amount)


def refund(receipt):
    """Sends the money back to the card that paid for the receipt.

    Receipts older than ninety days cannot be refunded any more.
    """
''',
    "shop/mail.py": '''"""Letters to customers."""


def confirm(order):
    """Writes to the customer that the order has arrived with us.

    The letter is queued and sent within five minutes.
    """
''',
}


def make_shop(folder: Path) -> Project:
    project = Project(folder)
    project.environment["PYTHONPATH"] = str(ROOT / "src")
    for name, text in FILES.items():
        project.write(name, text)
    project.run("git", "init", "--quiet", "--initial-branch=main")
    project.commit("shop")
    return project


def test_the_afternoon(tmp_path: Path) -> None:
    project = make_shop(tmp_path / "shop")
    for command in commands("docs/your-repository.md"):
        if command.startswith("cd "):
            project = Project(project.folder / command.removeprefix("cd "))
            project.environment["PYTHONPATH"] = str(ROOT / "src")
        elif "--review" in command:
            accept_three(project, command)
        elif "--annotator" in command:
            grade_all(project, command)
        else:
            project.run("bash", "-c", command)
    queries = json.loads(project.read("data/queries/shop.json"))["queries"]
    assert len(queries) == 4  # the example and three accepted ones
    graded = {module for query in queries for module in query["relevance_grades"]}
    assert graded == set(FILES)
    assert (
        "0 of " in project.run("bash", "-c", "rankgate pool shop 2> warnings.txt").splitlines()[-1]
    )
    metrics = json.loads(project.read("results/shop/bm25/metrics.json"))
    assert metrics["queries"] == 4
    assert metrics["judged_at_5"] == 1.0
    assert "shop" in project.run("rankgate", "report")


def in_terminal(project: Project, command: str) -> Terminal:
    return Terminal("bash", "-c", command, cwd=project.folder, env=project.environment)


def accept_three(project: Project, command: str) -> None:
    count = len(json.loads(project.read("proposals.json"))["queries"])
    terminal = in_terminal(project, command)
    terminal.wait_for("take it?")
    for _ in range(2):
        terminal.press("y", "enter", then="take it?")
    status, printed = terminal.end("y", "enter", *("q", "enter") * (count > 3))
    assert status == 0, printed
    assert printed.count("data/queries/shop.json: ") == 3


def grade_all(project: Project, command: str) -> None:
    pooled = project.run("bash", "-c", "rankgate pool shop --json 2> warnings.txt")
    left = sum(len(query["left"]) for query in json.loads(pooled)["queries"].values())
    assert left > 0
    terminal = in_terminal(project, command)
    terminal.wait_for(f"1/{left}")
    for number in range(2, left + 1):
        terminal.press("0", then=f"{number}/{left}")
    status, printed = terminal.end("0", "q")
    assert status == 0, printed
