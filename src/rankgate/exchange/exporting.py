"""A query file and its corpus as a collection that others read."""

from dataclasses import replace
from pathlib import Path

from rankgate.answers import Answer
from rankgate.errors import InputError, one_line
from rankgate.exchange.collection import Collection, Document
from rankgate.exchange.importing import TITLE_END
from rankgate.exchange.names import document_of
from rankgate.files import read_json
from rankgate.queries import QuerySet
from rankgate.trees import Tree


def export_collection(
    queries: QuerySet, tree: Tree, titles: dict[str, str]
) -> tuple[Collection, int]:
    """All modules as documents, the questions, and every grade, also 0.

    Args:
        titles: document id → title that its module begins with.

    Returns:
        the collection, and how many modules were no UTF-8: their odd bytes are replaced.
    """
    documents, odd = [], 0
    for module in tree.paths:
        content = tree.readers[module]()
        text = content.decode(errors="replace")
        odd += text.encode() != content
        name = document_of(module)
        title = titles.get(name, "")
        if title and text.startswith(title + TITLE_END):
            text = text.removeprefix(title + TITLE_END)
        else:
            title = ""
        documents.append(Document(name, title, text))
    questions = {query.id: query.question for query in queries.queries}
    return Collection(tuple(documents), questions, grades_of(queries)), odd


def grades_of(queries: QuerySet) -> dict[str, dict[str, int]]:
    """Query → document → grade."""
    return {
        query.id: {document_of(module): grade for module, grade in query.grades.items()}
        for query in queries.queries
    }


def with_documents(answer: Answer) -> Answer:
    """An answer whose hits name documents instead of modules."""
    hits = tuple(replace(hit, module=document_of(hit.module)) for hit in answer.hits)
    return replace(answer, hits=hits)


def read_titles(corpus: Path) -> dict[str, str]:
    """The titles that an import wrote beside its corpus folder; none without that file.

    Raises:
        InputError: the file is not from an import.
    """
    path = corpus.parent / f"{corpus.name}.titles.json"
    if not path.is_file():
        return {}
    titles = read_json(path)
    if not isinstance(titles, dict) or not all(isinstance(t, str) for t in titles.values()):
        raise InputError(f"{one_line(path)}: expected document ids and titles")
    return titles
