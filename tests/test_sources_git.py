"""Commits as sources: pinned, fetched into a store of ours, harmless whatever is in them."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rankgate.config import GitSource
from rankgate.corpus import Corpus, write_corpus
from rankgate.errors import InputError, UnreachableError
from rankgate.sources import archives
from rankgate.sources.git import commit_files, fetch_commit

WHERE = "repo.tiny.source"
LFS = b"version https://git-lfs.example/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"


class Repository:
    """A git repository made in the test."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main", *options)

    def git(self, *words: str, given: bytes = b"") -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        environment = os.environ | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
            "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
        }
        done = subprocess.run(
            ["git", *identity, *words],
            cwd=self.folder,
            input=given,
            env=environment,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def commit(self, **files: str | bytes) -> str:
        """A commit of all that is there and of these files; returns its id."""
        for name, content in files.items():
            path = self.folder / name.replace("__", "/").replace("_py", ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=x")
        return self.git("rev-parse", "HEAD")

    def blob(self, content: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", given=content)

    def raw_tree(self, *entries: tuple[str, bytes, str]) -> str:
        """A tree with entries (mode, name, object) that git itself would refuse to make."""
        body = b"".join(
            f"{mode} ".encode() + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries
        )
        return self.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", given=body)

    def commit_tree(self, tree: str) -> str:
        commit = self.git("commit-tree", tree, "-m", "x")
        self.git("update-ref", "refs/heads/main", commit)
        return commit


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "origin")


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that only code of a repository would make."""
    return tmp_path / "canary"


@pytest.fixture
def fetched(tmp_path: Path, repository: Repository) -> Callable[[str], dict[str, bytes | str]]:
    """What a commit offers: path → bytes, or the reason it is refused."""

    def read(commit: str) -> dict[str, bytes | str]:
        source = GitSource(str(repository.folder), commit)
        store = fetch_commit(source, tmp_path / "downloads", WHERE)
        return {c.path: c.refused or c.read() for c in commit_files(store, commit, WHERE)}

    return read


Fetched = Callable[[str], dict[str, bytes | str]]


def failure(fetched: Fetched, commit: str) -> str:
    with pytest.raises(InputError) as caught:
        fetched(commit)
    (line,) = caught.value.problems
    assert line.isprintable()
    return line


# What is pinned


def test_every_file_of_the_commit_is_offered(fetched: Fetched, repository: Repository) -> None:
    first = repository.commit(a_py="A", sub__b_py=b"\xff\0")
    repository.commit(a_py="changed", c_py="C")
    assert fetched(first) == {"a.py": b"A", "sub/b.py": b"\xff\0"}


def test_a_commit_is_fetched_once_and_needs_no_repository_then(
    fetched: Fetched, repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit(a_py="A")
    fetched(commit)
    assert [path.name for path in (tmp_path / "downloads").iterdir()] == [f"{commit}.git"]
    shutil.rmtree(repository.folder / ".git")
    assert fetched(commit) == {"a.py": b"A"}


def test_a_repository_of_sha256_is_read(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "new", "--object-format=sha256")
    commit = repository.commit(a_py="A")
    assert len(commit) == 64
    store = fetch_commit(GitSource(str(repository.folder), commit), tmp_path / "d", WHERE)
    assert [c.read() for c in commit_files(store, commit, WHERE)] == [b"A"]


def test_a_tag_is_refused_with_its_commit(fetched: Fetched, repository: Repository) -> None:
    commit = repository.commit(a_py="A")
    repository.git("tag", "v1")
    repository.git("tag", "--annotate", "--message=x", "v2")
    for tag in ("v1", "v2", "refs/tags/v2"):
        kind = "a ref" if tag.startswith("refs/") else "a tag"
        assert failure(fetched, tag) == (
            f"{WHERE}.commit: {tag} is {kind}, which can move; pin the commit that it means: "
            f"{commit}"
        )


def test_the_id_of_a_tag_object_is_refused_with_its_commit(
    fetched: Fetched, repository: Repository
) -> None:
    commit = repository.commit(a_py="A")
    repository.git("tag", "--annotate", "--message=x", "v2")
    tag = repository.git("rev-parse", "v2")
    assert failure(fetched, tag).endswith(f"pin the commit that it means: {commit}")


@pytest.mark.parametrize("name", ["main", "HEAD"])
def test_a_branch_is_refused_with_its_commit(
    fetched: Fetched, repository: Repository, name: str
) -> None:
    commit = repository.commit(a_py="A")
    assert failure(fetched, name).endswith(f"pin the commit that it means: {commit}")


def test_a_short_id_is_refused_with_its_commit(fetched: Fetched, repository: Repository) -> None:
    commit = repository.commit(a_py="A")
    repository.commit(a_py="B")
    assert failure(fetched, commit[:9]) == (
        f"{WHERE}.commit: {commit[:9]} is a short id, which can move; pin the commit that it "
        f"means: {commit}"
    )


def test_a_name_that_is_nothing_is_refused(fetched: Fetched, repository: Repository) -> None:
    repository.commit(a_py="A")
    assert failure(fetched, "v9").startswith(
        f"{WHERE}.commit: expected a full commit of 40 hex digits, got 'v9', which is no tag"
    )


def test_a_commit_that_is_not_there_is_named(
    fetched: Fetched, repository: Repository, tmp_path: Path
) -> None:
    repository.commit(a_py="A")
    expected = f"{WHERE}.commit: no commit {'ab' * 20} in {repository.folder}"
    assert failure(fetched, "ab" * 20) == expected
    assert not list((tmp_path / "downloads").iterdir())


def test_a_tree_is_no_commit(fetched: Fetched, repository: Repository) -> None:
    repository.commit(a_py="A")
    tree = repository.git("rev-parse", "HEAD^{tree}")
    assert failure(fetched, tree).startswith(f"{WHERE}")


def test_a_folder_without_a_repository_is_named(tmp_path: Path) -> None:
    for name, why in (("none", "no such folder"), (".", "git cannot fetch")):
        source = GitSource(str(tmp_path / name), "ab" * 20)
        with pytest.raises(InputError, match=why):
            fetch_commit(source, tmp_path / "downloads", WHERE)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/a.git", "https://nohost.invalid/a.git"])
def test_no_network_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UnreachableError, match=r"no network: .* cannot be reached"):
        fetch_commit(GitSource(url, "ab" * 20), tmp_path, WHERE)


def test_without_git_it_says_so(
    fetched: Fetched, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit(a_py="A")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnreachableError, match="git is not installed"):
        fetched(commit)


def test_a_damaged_store_is_found_out(
    fetched: Fetched, repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit(a_py="A" * 5000)
    fetched(commit)
    (pack,) = (tmp_path / "downloads").rglob("*.pack")
    content = bytearray(pack.read_bytes())
    pack.unlink()
    content[-40:-25] = b"\0" * 15
    pack.write_bytes(content)
    try:
        assert fetched(commit) == {"a.py": b"A" * 5000}  # it was found out at once
    except InputError as error:
        said = str(error)
        assert "is damaged; delete it" in said


# What does not become a module


def test_links_and_submodules_are_offered_as_refused(
    fetched: Fetched, repository: Repository
) -> None:
    commit = repository.commit(a_py="A")
    (repository.folder / "link.py").symlink_to("/etc/passwd")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},vendored")
    modules = '[submodule "vendored"]\n\tpath = vendored\n\turl = file:///etc\n'
    (repository.folder / ".gitmodules").write_text(modules)
    repository.git("add", "link.py", ".gitmodules")
    repository.git("commit", "--quiet", "--message=x")
    assert fetched(repository.git("rev-parse", "HEAD")) == {
        ".gitmodules": modules.encode(),
        "a.py": b"A",
        "link.py": "a symbolic link",
        "vendored": "a submodule",
    }


def corpus_of(fetched: Fetched, commit: str, tmp_path: Path) -> Corpus:
    fetched(commit)
    files = commit_files(tmp_path / "downloads" / f"{commit}.git", commit, WHERE)
    return write_corpus(tmp_path / "corpus", files, source={})


def test_a_pointer_of_lfs_is_left_out_and_not_smudged(
    fetched: Fetched, repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit(a_py="A", model_py=LFS)
    corpus = corpus_of(fetched, commit, tmp_path)
    assert (corpus.paths, corpus.left_out) == (("a.py",), {"a pointer of Git LFS": 1})


# Hostile repositories


def test_hooks_and_config_of_the_repository_run_nothing(
    fetched: Fetched, repository: Repository, canary: Path
) -> None:
    commit = repository.commit(a_py="A")
    script = f"#!/bin/sh\ntouch '{canary}'\n"
    hooks = repository.folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-receive", "reference-transaction", "post-merge"):
        (hooks / name).write_text(script)
        (hooks / name).chmod(0o755)
    run = repository.folder / "run.sh"
    run.write_text(script)
    run.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.editor",
        "core.pager",
        "core.askPass",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "uploadpack.packObjectsHook",
        "credential.helper",
        "diff.external",
        "filter.x.smudge",
        "filter.x.process",
        "gpg.program",
    ):
        repository.git("config", key, str(run))
    repository.git("config", "core.hooksPath", str(hooks))
    assert fetched(commit) == {"a.py": b"A"}
    assert "pin the commit" in failure(fetched, "main")
    assert not canary.exists()


def test_the_users_own_config_plays_no_part(
    fetched: Fetched,
    repository: Repository,
    canary: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commit = repository.commit(a_py="A")
    config = tmp_path / "config"
    config.write_text(f"[core]\n\tfsmonitor = touch '{canary}'\n\thooksPath = {tmp_path}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'uploadpack.packobjectshook'='touch {canary}'")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {canary}")
    assert fetched(commit) == {"a.py": b"A"}
    assert not canary.exists()


def test_filters_of_the_attributes_are_not_applied(
    fetched: Fetched, repository: Repository, canary: Path
) -> None:
    commit = repository.commit(a_py="$Id$\n", b_py="B\r\n")
    attributes = "* ident text eol=lf filter=x working-tree-encoding=UTF-16 export-ignore\n"
    (repository.folder / ".git" / "info").mkdir(exist_ok=True)
    (repository.folder / ".git" / "info" / "attributes").write_text(attributes)
    repository.git("config", "filter.x.smudge", f"touch '{canary}'")
    assert fetched(commit) == {"a.py": b"$Id$\n", "b.py": b"B\r\n"}
    assert not canary.exists()


def test_a_missing_object_is_not_fetched_from_where_the_repository_says(
    fetched: Fetched, repository: Repository, canary: Path
) -> None:
    commit = repository.commit(a_py="A")
    blob = repository.git("rev-parse", f"{commit}:a.py")
    (repository.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    repository.git("config", "remote.evil.url", f"ext::sh -c 'touch {canary}'")
    repository.git("config", "remote.evil.promisor", "true")
    repository.git("config", "extensions.partialClone", "evil")
    repository.git("config", "protocol.ext.allow", "always")
    assert failure(fetched, commit).startswith(WHERE)
    assert not canary.exists()


def test_alternates_give_the_pinned_bytes_or_nothing(
    fetched: Fetched, repository: Repository, tmp_path: Path
) -> None:
    other = Repository(tmp_path / "other")
    commit = other.commit(a_py="A")
    info = repository.folder / ".git" / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{other.folder}/.git/objects\n")
    assert fetched(commit) == {"a.py": b"A"}


def test_replaced_objects_are_not_believed(fetched: Fetched, repository: Repository) -> None:
    commit = repository.commit(a_py="A")
    evil = repository.blob(b"EVIL")
    repository.git("replace", repository.git("rev-parse", f"{commit}:a.py"), evil)
    assert fetched(commit) == {"a.py": b"A"}


def test_odd_refs_are_harmless(fetched: Fetched, repository: Repository, canary: Path) -> None:
    commit = repository.commit(a_py="A")
    for name in (f"$(touch${{IFS}}{canary.name})", "--upload-pack=x", "ab" * 20, "😀", "a'b;c"):
        repository.git("update-ref", f"refs/heads/{name}", commit)
    assert fetched(commit) == {"a.py": b"A"}
    expected = f"{WHERE}.commit: no commit {'ab' * 20} in {repository.folder}"
    assert failure(fetched, "ab" * 20) == expected


@pytest.mark.parametrize("name", [b"../evil.py", b"/etc/evil.py", b"a/../../evil.py", b".."])
def test_a_name_that_could_leave_the_folder_is_refused(
    fetched: Fetched, repository: Repository, name: bytes
) -> None:
    tree = repository.raw_tree(("100644", name, repository.blob(b"x")))
    commit = repository.commit_tree(tree)
    assert "is no plain relative path" in failure(fetched, commit)


def test_a_name_given_twice_is_refused(fetched: Fetched, repository: Repository) -> None:
    blob = repository.blob(b"x")
    tree = repository.raw_tree(("100644", b"a.py", blob), ("120000", b"a.py", blob))
    expected = f"{WHERE}: refused: 'a.py' stands there twice"
    assert failure(fetched, repository.commit_tree(tree)) == expected


def test_what_is_named_as_gits_own_folder_is_no_module(
    fetched: Fetched, repository: Repository, tmp_path: Path, canary: Path
) -> None:
    blob = repository.blob(f"[core]\n\tfsmonitor = touch '{canary}'\n".encode())
    inner = repository.raw_tree(("100644", b"config", blob))
    link = repository.blob(b"/etc")
    tree = repository.raw_tree(
        ("40000", b".git", inner), ("120000", b".GIT", link), ("100644", b"a.py", blob)
    )
    corpus = corpus_of(fetched, repository.commit_tree(tree), tmp_path)
    assert corpus.paths == ("a.py",)
    assert corpus.left_out == {
        "a symbolic link": 1,
        "in a folder of version control or tools": 1,
    }
    assert not canary.exists()


def test_a_tree_of_ten_billion_files_is_refused(
    fetched: Fetched, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_ENTRIES", 2000)
    blob = repository.blob(b"x")
    tree = repository.raw_tree(*(("100644", b"f%d" % i, blob) for i in range(10)))
    for _ in range(9):
        tree = repository.raw_tree(*(("40000", b"d%d" % i, tree) for i in range(10)))
    expected = f"{WHERE}: refused: more than 2000 files"
    assert failure(fetched, repository.commit_tree(tree)) == expected


def test_names_that_are_no_utf_8_are_left_out(
    fetched: Fetched, repository: Repository, tmp_path: Path
) -> None:
    blob = repository.blob(b"x")
    tree = repository.raw_tree(("100644", b"\xff.py", blob), ("100644", b"a b\xc3\xa9.py", blob))
    corpus = corpus_of(fetched, repository.commit_tree(tree), tmp_path)
    assert corpus.paths == ("a bé.py",)


def test_the_objects_read_are_checked_against_their_ids() -> None:
    """What the check relies on: git's id of a blob, as its documentation has it."""
    whole = hashlib.sha1(b"blob 0\0", usedforsecurity=False).hexdigest()
    assert whole == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
