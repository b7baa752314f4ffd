"""Document ids as modules, and back.

A module is a file's path; a document id is any text. An id that is a plain relative path stays as
it is, so that our own sets come back as they were. Any other is percent-encoded, as in a URL.
"""

from collections.abc import Iterable
from urllib.parse import quote, unquote

from rankgate.corpus import CLUTTER
from rankgate.errors import InputError, one_line
from rankgate.queries import module_path_problem

# Names that git and DVC take for their own, wherever they stand.
_TAKEN = frozenset(
    {".gitignore", ".gitattributes", ".gitmodules", ".dvcignore", "dvc.yaml", "dvc.lock"}
)
_MAX_BYTES = 255  # of a file's name, on the file systems in use


def module_of(document: str) -> str:
    """The module that stands for a document.

    Raises:
        InputError: the id is empty, is no text, or is too long for the name of a file.
    """
    try:
        encoded = document.encode()
    except UnicodeEncodeError:
        raise InputError("a document id has half of a surrogate pair, which is no text") from None
    if not encoded:
        raise InputError("a document id is empty")
    module = document
    if unquote(document) != document or not _is_free(document):
        module = quote(document, safe="")
        if not _is_free(module):
            module = module.replace(".", "%2E")
    if any(len(part.encode()) > _MAX_BYTES for part in module.split("/")):
        shown = one_line(document, 60)
        raise InputError(f"document {shown!r}: its id is too long for the name of a file")
    return module


def document_of(module: str) -> str:
    """The document that a module stands for: the inverse of `module_of`; others stay."""
    document = unquote(module)
    try:
        return document if document and module_of(document) == module else module
    except InputError:
        return module


def _is_free(path: str) -> bool:
    *folders, name = path.split("/")
    return (
        module_path_problem(path) is None
        and CLUTTER.isdisjoint((*folders, name))
        and _TAKEN.isdisjoint((*folders, name))
        and not path.endswith(".dvc")
    )


def modules_of(documents: Iterable[str], where: object) -> dict[str, str]:
    """Document id → module, for documents that are to stand in one folder.

    Raises:
        InputError: an id stands there twice; or one would be both a file and a folder.
    """
    modules: dict[str, str] = {}
    for document in documents:
        if document in modules:
            raise InputError(f"{where}: document {one_line(document, 60)!r} stands there twice")
        modules[document] = module_of(document)
    taken = set(modules.values())
    for module in modules.values():
        parts = module.split("/")
        for end in range(1, len(parts)):
            if (folder := "/".join(parts[:end])) in taken:
                raise InputError(
                    f"{where}: documents {one_line(folder, 60)!r} and {one_line(module, 60)!r}: "
                    "one cannot be a file and the other one in a folder of that name"
                )
    return modules
