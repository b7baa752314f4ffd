"""Which files of a repo are tests, which are generated: the rules that docs/sources.md lists.

Rules of names are by language, as each language has its own habits; rules of content look at the
first lines only.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

_TEST_FOLDERS = {
    "test", "tests", "__tests__", "__mocks__", "__fixtures__", "__snapshots__",
    "testdata", "test-data", "test_data", "fixtures",
}  # fmt: skip
_TEST_FILES: Sequence[tuple[str, str]] = (
    ("py pyi", r"test_.*|.*_test|tests?|conftest"),
    ("go", r".*_test"),
    ("js jsx mjs cjs ts tsx mts cts vue svelte", r".*\.(test|tests|spec|cy|e2e)"),
    ("rs", r"tests?|.*_tests?|test_.*"),
    ("c cc cpp cxx h hh hpp hxx", r"test_.*|.*_tests?|.*_unittest|.*-test"),
    ("java kt kts scala groovy cs swift php", r".*[a-z0-9]Tests?|.*Test(Case|Suite)|Tests?"),
    ("rb", r".*_(test|spec)|test_.*|spec_helper|test_helper"),
    ("ex exs", r".*_test|test_helper"),
    ("dart", r".*_test"),
    ("snap", r".*"),
)
_LOCKS = {
    "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock",
    "bun.lockb", "deno.lock", "Cargo.lock", "poetry.lock", "Pipfile.lock", "uv.lock", "pdm.lock",
    "pixi.lock", "composer.lock", "Gemfile.lock", "go.sum", "go.work.sum", "flake.lock",
    "mix.lock", "pubspec.lock", "Podfile.lock", "Package.resolved", "gradle.lockfile",
    "packages.lock.json",
}  # fmt: skip
_GENERATED_NAME = re.compile(
    r"""
      .* [.-]min\.(js|mjs|cjs|css)       # minified
    | .* \.(js|mjs|cjs|css|ts)\.map      # source maps
    | .* _pb2(_grpc)?\.pyi?              # protocol buffers
    | .* \.pb(\.gw|\.validate)?\.(go|cc|h|c|swift|dart) | .* _(grpc_)?pb\.(js|ts|d\.ts)
    | .* \.(g|freezed)\.dart | .* \.(g|designer|generated)\.cs
    | .* [._-]generated\.\w+ | zz_generated\..*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_HEAD_BYTES, _HEAD_LINES = 4096, 15
_COMMENT = re.compile(rb"\s*(#|//|/\*|\*|--|;|%|<!--|\"\"\"|''')")
_GENERATED_MARK = re.compile(
    rb"""
      (?<![\w`'"]) @generated \b (?![`'"])
    | \b do \s not \s (edit|modify) \b (?! .* \b (above|below|without) \b )
    | \b code \s generated \s (by|from) \b
    | \b (this|the) \s (file|code|module|source) \s (is|was|has \s been)
        \s ((auto(matically)?[ -]?) )? (auto-?)?generated \b
    | ^ \W* (auto-?generated|automatically \s generated|generated \s (by|from|with) \s) \b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MINIFIABLE = (".js", ".mjs", ".cjs", ".css")
_MINIFIED_LINE, _MINIFIED_BYTES = 300, 2000
_LFS = re.compile(rb"version https://[^\s/]+/spec/v1\n(ext-.*\n)*oid sha256:[0-9a-f]{64}\n")


def is_test(path: str) -> bool:
    """Whether a path below the corpus root is of a test, or of data for tests."""
    *folders, name = path.split("/")
    if any(map(_is_test_folder, folders)):
        return True
    stem, _, ending = name.rpartition(".")
    pattern = _test_pattern(ending)
    return bool(pattern and pattern.fullmatch(stem))


@lru_cache(maxsize=1 << 12)
def _is_test_folder(name: str) -> bool:
    return name.lower() in _TEST_FOLDERS


@lru_cache(maxsize=1 << 10)
def _test_pattern(ending: str) -> re.Pattern[str] | None:
    for endings, pattern in _TEST_FILES:
        if ending in endings.split():
            return re.compile(pattern)
    return None


def is_generated_name(path: str) -> bool:
    """Whether the name alone says that a program wrote the file."""
    name = path.rpartition("/")[2]
    return name in _LOCKS or bool(_GENERATED_NAME.fullmatch(name))


def is_generated(path: str, content: bytes) -> bool:
    """Whether a comment in its first lines says that a program wrote it, or it is minified."""
    lines = content[:_HEAD_BYTES].split(b"\n")[:_HEAD_LINES]
    if any(_COMMENT.match(line) and _GENERATED_MARK.search(line) for line in lines):
        return True
    return (
        path.lower().endswith(_MINIFIABLE)
        and len(content) >= _MINIFIED_BYTES
        and len(content) > _MINIFIED_LINE * (content.count(b"\n") + 1)
    )


def is_lfs_pointer(content: bytes) -> bool:
    """Whether a file is what Git LFS puts in the place of one that it keeps elsewhere."""
    return len(content) < 1024 and bool(_LFS.match(content))
