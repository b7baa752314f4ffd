"""A commit of a git repository as a source: fetched into a bare store, never checked out.

What a repository could make git do happens on checkout (hooks, filters, submodules, links) or by
its own config (fsmonitor, credential helpers, external programs). Here git only fetches objects
into a store of ours and prints them: with no config but ours, no prompt, no protocol besides the
one that the URL names.
"""

import hashlib
import os
import re
import subprocess
import tempfile
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rankgate.config import GitSource
from rankgate.corpus import Candidate
from rankgate.errors import InputError, UnreachableError, one_line
from rankgate.sources.archives import Guard

_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_OFFLINE = (
    "Could not resolve host", "Failed to connect", "Couldn't connect", "timed out",
    "Connection refused", "Network is unreachable", "No route to host", "too slow",
)  # fmt: skip
# Servers that give no commit but the tip of a branch, or no part of a history.
_ALL_NEEDED = (
    "not our ref", "unadvertised object", "shallow", "no such remote ref",
    "couldn't find remote ref", "remote error: upload-pack",
)  # fmt: skip
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "fetch.unpackLimit": "1",
    "gc.auto": "0",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "60",
    "maintenance.auto": "false",
    "protocol.version": "2",
    "submodule.recurse": "false",
    "uploadpack.packObjectsHook": "",
}


def fetch_commit(source: GitSource, downloads: Path, where: str) -> Path:
    """The bare store in `downloads` that has the commit, fetched when it is not there.

    Raises:
        UnreachableError: no network, or no git on this machine.
        InputError: `commit` is no full commit, or the repository does not have it.
    """
    url = _address(source.url, where)
    if not _FULL.fullmatch(source.commit):
        raise _means(url, source, where)
    store = downloads / f"{source.commit}.git"
    if _kind(store, source.commit) == "commit":
        return store
    downloads.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=downloads) as folder:
        fresh = Path(folder, "store")
        _fetch(url, source, fresh, where)
        kind = _kind(fresh, source.commit)
        if kind == "tag":
            meant = _git(fresh, "rev-parse", "--verify", f"{source.commit}^{{}}").stdout.decode()
            raise InputError(_pin(source, where, "a tag", meant.strip()))
        if kind != "commit":
            raise InputError(f"{where}.commit: {source.commit} is {kind or 'not there'}")
        if store.exists():  # a damaged one
            store.rename(Path(folder, "damaged"))
        try:
            fresh.rename(store)
        except OSError:  # another process was faster
            if _kind(store, source.commit) != "commit":
                raise
    return store


def commit_files(store: Path, commit: str, where: str) -> Iterator[Candidate]:
    """Every file of a commit; links and submodules are offered as refused and never followed.

    Raises:
        InputError: the tree is made to do harm (see `archives.Guard`), or the store is damaged.
    """
    objects = _Objects(store, where)
    guard = Guard(where)
    for mode, oid, size, path in _listed(store, commit, where):
        guard.entry()
        guard.file(path, 0)  # only what is chosen is ever unpacked
        if mode == "160000":
            yield Candidate(path, 0, bytes, "a submodule")
        elif mode == "120000":
            yield Candidate(path, 0, bytes, "a symbolic link")
        else:
            yield Candidate(path, size, partial(objects.read, oid))
    guard.end()


def _listed(store: Path, commit: str, where: str) -> Iterator[tuple[str, str, int, str]]:
    """(mode, object, size, path) of a tree, as git lists it: a tree can name 10^10 files."""
    command = _command(store, "ls-tree", "-r", "-l", "-z", "--full-tree", commit)
    with subprocess.Popen(  # noqa: S603 — an argument list of checked values, no shell
        command,
        env=_environment("none"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None  # noqa: S101 — for mypy
        try:
            rest = b""
            while piece := process.stdout.read(1 << 16):
                *lines, rest = (rest + piece).split(b"\0")
                for line in lines:
                    about, _, path = line.partition(b"\t")
                    mode, _, oid, size = about.decode().split()
                    bytes_ = int(size) if size.isdigit() else 0
                    yield mode, oid, bytes_, path.decode("utf-8", "surrogateescape")
        finally:
            process.kill()
            process.stdout.read()
    if rest or process.returncode not in (0, -9):
        raise _damaged(store, where)


class _Objects:
    """Reads objects by their id through one process of git, and checks that they have it."""

    def __init__(self, store: Path, where: str) -> None:
        self._store = store
        self._where = where
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, oid: str) -> bytes:
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 — as above
                _command(self._store, "cat-file", "--batch"),
                env=_environment("none"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            weakref.finalize(self, _end, self._process)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # noqa: S101, PT018 — for mypy
        try:
            stdin.write(f"{oid}\n".encode())
            stdin.flush()
            _, kind, size = stdout.readline().split()
            content = stdout.read(int(size) + 1)[:-1]
        except (OSError, ValueError):
            raise _damaged(self._store, self._where) from None
        algorithm = "sha1" if len(oid) == 40 else "sha256"
        whole = hashlib.new(algorithm, b"%s %d\0" % (kind, len(content)), usedforsecurity=False)
        whole.update(content)
        if whole.hexdigest() != oid:
            raise _damaged(self._store, self._where)
        return content


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()


def _damaged(store: Path, where: str) -> InputError:
    return InputError(f"{where}: {store} is damaged; delete it, and it is fetched again")


def _fetch(url: str, source: GitSource, store: Path, where: str) -> None:
    """Fetch the commit alone, or all branches and tags where the server gives it no other way."""
    store.mkdir()
    form = "sha1" if len(source.commit) == 40 else "sha256"
    made = _git(store, "init", "--quiet", "--bare", "--template=", f"--object-format={form}")
    if made.returncode:
        raise _failure(made, source, where)
    common = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
    done = _git(store, *common, "--depth=1", "--", url, source.commit, reach=url)
    if done.returncode and any(sign in _said(done) for sign in _ALL_NEEDED):
        branches = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        done = _git(store, *common, "--", url, *branches, reach=url)
        if done.returncode == 0 and not _kind(store, source.commit):
            raise InputError(f"{where}.commit: no commit {source.commit} in {one_line(source.url)}")
    if done.returncode:
        raise _failure(done, source, where)


def _means(url: str, source: GitSource, where: str) -> InputError:
    """The error for what is no full commit: which commit it means."""
    done = _git(None, "ls-remote", "--quiet", "--", url, reach=url)
    if done.returncode:
        return _failure(done, source, where)
    refs: dict[str, str] = {}
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        oid, _, name = line.partition("\t")
        refs[name] = oid
    asked = source.commit
    for folder, what in (("refs/tags/", "a tag"), ("refs/heads/", "a branch"), ("refs/", "a ref")):
        name = folder + asked.removeprefix("refs/") if folder == "refs/" else folder + asked
        if oid := refs.get(f"{name}^{{}}", refs.get(name, "")):
            return InputError(_pin(source, where, what, oid))
    if asked == "HEAD" and "HEAD" in refs:
        return InputError(_pin(source, where, "a ref", refs["HEAD"]))
    starts = {oid for oid in refs.values() if oid.startswith(asked.lower())}
    if len(starts) == 1 and re.fullmatch(r"[0-9a-fA-F]{4,}", asked):
        return InputError(_pin(source, where, "a short id", *starts))
    if re.fullmatch(r"[0-9a-fA-F]{4,}", asked) and url.startswith("/"):
        # Of a folder git can be asked for more than its tips.
        words = ("-C", url, "rev-parse", "--verify", "--quiet", f"{asked}^{{commit}}")
        if found := _git(None, *words).stdout.decode().strip():
            return InputError(_pin(source, where, "a short id", found))
    return InputError(
        f"{where}.commit: expected a full commit of 40 hex digits, got {one_line(asked, 80)!r}, "
        f"which is no tag or branch of {one_line(source.url)} either"
    )


def _pin(source: GitSource, where: str, what: str, oid: str) -> str:
    asked = one_line(source.commit, 80)
    return f"{where}.commit: {asked} is {what}, which can move; pin the commit that it means: {oid}"


def _failure(
    done: "subprocess.CompletedProcess[bytes]", source: GitSource, where: str
) -> InputError:
    said, url = _said(done), one_line(source.url)
    if any(sign in said for sign in _OFFLINE):
        return UnreachableError(f"{where}: no network: {url} cannot be reached")
    if "could not read Username" in said or "Permission denied (publickey" in said:
        return InputError(
            f"{where}.url: {url} is not public, or is not there; no password is asked for: "
            "use an ssh URL with an agent, or a clone on this machine"
        )
    lines = [line for line in said.splitlines() if line.startswith(("fatal:", "error:"))]
    return InputError(f"{where}: git cannot fetch {url}: {one_line((lines or [said])[0])}")


def _address(url: str, where: str) -> str:
    """The URL as git is to take it; a folder by its absolute path, so that it is nothing else."""
    if "://" in url or (":" in url.partition("/")[0] and not Path(url).exists()):
        return url
    if not Path(url).is_dir():
        raise InputError(f"{where}.url: no such folder: {one_line(url)}")
    return str(Path(url).resolve())


def _protocol(url: str) -> str:
    scheme, colon, _ = url.partition("://")
    if colon:
        return scheme
    return "file" if url.startswith("/") else "ssh"


def _kind(store: Path, oid: str) -> str:
    """What an object of a store is: commit, tag, tree, blob; nothing when it is not there whole."""
    if not store.is_dir():
        return ""
    kind = _git(store, "cat-file", "-t", oid).stdout.decode().strip()
    if kind == "commit" and _git(store, "cat-file", "-e", f"{oid}^{{tree}}").returncode:
        return ""
    return kind


def _command(store: Path | None, *words: str) -> list[str]:
    settings = [part for item in _SETTINGS.items() for part in ("-c", "=".join(item))]
    folder = [f"--git-dir={store.absolute()}"] if store else []
    return ["git", "--no-pager", *folder, *settings, *words]


def _git(store: Path | None, *words: str, reach: str = "") -> "subprocess.CompletedProcess[bytes]":
    """Run git; `reach` is the URL that it may speak to, none by default."""
    try:
        with tempfile.TemporaryDirectory(prefix="rankgate-") as folder:
            # For the program that serves a folder of this machine as well, which takes no settings
            # of ours: it runs nothing from that folder's config, whoever owns the folder.
            settings = Path(folder, "settings")
            settings.write_text("[safe]\n\tdirectory = *\n")
            return subprocess.run(  # noqa: S603 — an argument list of checked values, no shell
                _command(store, *words),
                cwd=folder,
                env=_environment(_protocol(reach) if reach else "none")
                | {"GIT_CONFIG_GLOBAL": str(settings)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
    except FileNotFoundError:
        raise UnreachableError("git is not installed, and it fetches repositories") from None


def _environment(protocol: str) -> dict[str, str]:
    kept = ("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_EXEC_PATH")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in kept
    }
    return environment | {
        "GIT_ALLOW_PROTOCOL": protocol,
        "GIT_ASKPASS": "",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": tempfile.gettempdir(),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
        "SSH_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
    }


def _said(done: "subprocess.CompletedProcess[bytes]") -> str:
    return done.stderr.decode("utf-8", "replace")
