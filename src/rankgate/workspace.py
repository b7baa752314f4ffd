"""A private checkout of a DVC project that shares its cache.

In it a run with other settings leaves the project's own files, params.yaml and dvc.lock alone, and
what either has computed the other does not compute again.
"""

import os
import shutil
import subprocess
from pathlib import Path

from rankgate.errors import InputError, one_line
from rankgate.files import read_bytes, write_bytes, write_text

# A result of the project's own settings is none of the workspace's.
_OWN = ("dvc.lock", "results", "verdicts", "report.md", "leaderboard")


def sync(project: Path, folder: Path) -> None:
    """Bring the project's files into `folder` as they stand in the work tree.

    The files are those that git knows or would add, without what the pipeline wrote. Kept from an
    earlier time: dvc.lock and what its stages made, so that only what changed runs again.

    Raises:
        InputError: `project` is no git checkout.
    """
    listed = _listed(project)
    # Git lists what is deleted but not committed, and submodules; neither is a file.
    files = {name for name in listed if name.parts[0] not in _OWN and (project / name).is_file()}
    kept = folder / ".dvc/synced"
    before = set(_names(read_bytes(kept))) if kept.is_file() else set()
    for name in before - files:  # first, for a folder may have taken a file's name, or the reverse
        _remove(folder, name)
    for name in files:
        source, target = project / name, folder / name
        if not _same(source, target):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    write_bytes(kept, b"\0".join(os.fsencode(name) for name in sorted(files)))
    cache = (project / ".dvc/cache").absolute()
    write_text(
        folder / ".dvc/config.local", f"[core]\n    no_scm = true\n[cache]\n    dir = {cache}\n"
    )
    downloads = folder / "work/downloads"
    if not downloads.is_symlink():
        (project / "work/downloads").mkdir(parents=True, exist_ok=True)
        downloads.parent.mkdir(parents=True, exist_ok=True)
        downloads.symlink_to((project / "work/downloads").absolute())


def _listed(project: Path) -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(  # noqa: S603 — fixed words
            command, cwd=project, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"").decode("utf-8", "replace") or error
        raise InputError(f"{one_line(project)}: no git checkout: {one_line(said)}") from None
    return _names(listed.stdout)


def _names(listed: bytes) -> list[Path]:
    """Names may have any byte but NUL, and line breaks as well."""
    return [Path(os.fsdecode(name)) for name in listed.split(b"\0") if name]


def _remove(folder: Path, name: Path) -> None:
    """A file, and the folders that are empty without it."""
    (folder / name).unlink(missing_ok=True)
    for parent in list(name.parents)[:-1]:
        try:
            (folder / parent).rmdir()
        except OSError:  # there is something in it
            return


def _same(source: Path, target: Path) -> bool:
    return target.is_file() and source.read_bytes() == target.read_bytes()
