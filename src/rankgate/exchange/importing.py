"""A foreign collection as a repo of this project: corpus folder, query file, config."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankgate.config import NAME
from rankgate.corpus import MAX_MODULE_BYTES, MAX_MODULES
from rankgate.errors import InputError, one_line
from rankgate.exchange.collection import Collection, Problems, sound_grade
from rankgate.exchange.names import module_of, modules_of
from rankgate.files import dump_json, write_bytes, write_json, write_text

SHAPE = "ad-hoc"  # TREC's word for a question put to a collection
TITLE_END = "\n\n"


@dataclass(frozen=True)
class Imported:
    """What an import took and what it left out.

    Attributes:
        dropped: queries without a relevant document, which have nothing to find.
        negative, clipped: grades below 0, made 0, and above 3, made 3.
    """

    documents: int
    queries: int
    dropped: tuple[str, ...]
    negative: int
    clipped: int

    def lines(self) -> list[str]:
        """What to tell."""
        told = [f"{self.queries} queries"]
        if self.documents:
            told.insert(0, f"{self.documents} documents")
        if self.dropped:
            shown = ", ".join(self.dropped[:3]) + (", …" if self.dropped[3:] else "")
            told.append(f"{len(self.dropped)} dropped for want of a relevant document: {shown}")
        if self.negative:
            told.append(f"{self.negative} negative grades made 0")
        if self.clipped:
            told.append(f"{self.clipped} grades above 3 made 3")
        return [one_line(line) for line in told]


def import_collection(
    collection: Collection, name: str, project: Path, source: str, *, clip: bool
) -> Imported:
    """Write data/NAME, data/queries/NAME.json and conf/repo/NAME.yaml; or nothing.

    A document becomes a file: its title, an empty line and its text; the titles stand in
    data/NAME.titles.json as well, for the way back.

    Args:
        source: what it was made from, for the file's description.
        clip: make grades above 3 a 3.

    Raises:
        InputError: the name is unusable or taken; a document can be no module; grades of documents
            that are not there; no query with a relevant document.
    """
    if not NAME.fullmatch(name):
        raise InputError(f"--name {one_line(name, 40)}: letters, digits, '_' and single '-'")
    folder, titles = project / "data" / name, project / "data" / f"{name}.titles.json"
    queries = project / "data/queries" / f"{name}.json"
    config = project / "conf/repo" / f"{name}.yaml"
    for path in (folder, titles, queries, config):
        if path.exists() or path.is_symlink():
            raise InputError(f"{path}: is there already; take it away or choose another --name")
    if len(collection.documents) > MAX_MODULES:
        raise InputError(f"{source}: more than {MAX_MODULES} documents")
    modules = modules_of((document.id for document in collection.documents), source)
    value, imported = query_file(
        collection.questions, collection.grades, modules, source, clip=clip
    )
    contents = _contents(collection, modules, source)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}.") as temporary:
        built = Path(temporary, name)
        for module, content in contents.items():
            target = built / module
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        shutil.move(built, folder)
    found = {document.id: document.title for document in collection.documents if document.title}
    if found:
        write_json(titles, found)
    write_text(queries, dump_json(value))
    write_text(
        config,
        f"# @package repo.{name}\n"
        f"source: {{type: local, path: data/{name}}}\n"
        f"queries: data/queries/{name}.json\n"
        "ungraded: zero\n",
    )
    return imported


def _contents(collection: Collection, modules: Mapping[str, str], source: str) -> dict[str, bytes]:
    """Module → bytes."""
    problems = Problems(source)
    contents = {}
    for document in collection.documents:
        text = f"{document.title}{TITLE_END}{document.text}" if document.title else document.text
        where = f"{source}: document {one_line(document.id, 60)!r}"
        try:
            content = text.encode()
        except UnicodeEncodeError:
            problems.add(f"{where}: has half of a surrogate pair, which is no text")
            continue
        if b"\0" in content[:8192]:
            problems.add(f"{where}: has a NUL, as binary files do, which a corpus leaves out")
        elif len(content) > MAX_MODULE_BYTES:
            problems.add(f"{where}: is larger than {MAX_MODULE_BYTES} bytes")
        contents[modules[document.id]] = content
    problems.finish()
    if not contents:
        raise InputError(f"{source}: no document")
    return contents


def query_file(
    questions: Mapping[str, str],
    grades: Mapping[str, Mapping[str, int]],
    modules: Mapping[str, str] | None,
    source: str,
    *,
    clip: bool,
) -> tuple[dict[str, Any], Imported]:
    """A query file of relevance grades only.

    Args:
        modules: document id → module; None: all documents are, by their names.

    Raises:
        InputError: see `import_collection`.
    """
    problems = Problems(source)
    listed, dropped, negative, clipped = [], [], 0, 0
    for query, question in questions.items():
        shown = one_line(query, 60)
        graded = grades.get(query, {})
        if query.splitlines() != [query] or not query.strip() or "\0" in query:
            problems.add(f"{source}: query {shown!r}: its id is empty or has a line break")
        if not question.strip() or "\0" in question:
            problems.add(f"{source}: query {shown!r}: its text is empty or has a NUL")
        found = {}
        for document, grade in graded.items():
            where = f"{source}: query {shown!r}, document {one_line(document, 60)!r}"
            if modules is not None and document not in modules:
                problems.add(f"{where}: is graded, but not among the documents")
                continue
            module = modules[document] if modules is not None else module_of(document)
            found[module] = sound_grade(grade, where, problems, clip)
            negative += grade < 0
            clipped += grade > 3
        if any(found.values()):
            listed.append(
                {"id": query, "question": question, "shape": SHAPE, "relevance_grades": found}
            )
        else:
            dropped.append(query)
    problems.finish()
    if not listed:
        raise InputError(f"{source}: no query has a relevant document")
    value = {
        "version": 1,
        "description": f"Relevance grades imported from {one_line(source)}; no gold facts.",
        "shapes": [SHAPE],
        "facts": False,
        "queries": listed,
    }
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputError(f"{source}: a query has half of a surrogate pair, no text") from None
    imported = Imported(len(modules or ()), len(listed), tuple(dropped), negative, clipped)
    return value, imported


def import_qrels(
    questions: Mapping[str, str],
    grades: Mapping[str, Mapping[str, int]],
    out: Path,
    source: str,
    *,
    clip: bool,
) -> Imported:
    """Write a query file of TREC topics and qrels.

    Raises:
        InputError: a query of the qrels has no topic; and see `import_collection`.
    """
    if unknown := [query for query in grades if query not in questions]:
        raise InputError(
            f"{source}: {len(unknown)} queries have no topic: "
            f"{one_line(', '.join(unknown[:3]), 120)}"
        )
    asked = {query: text for query, text in questions.items() if query in grades}
    value, imported = query_file(asked, grades, None, source, clip=clip)
    write_bytes(out, dump_json(value).encode())
    return imported
