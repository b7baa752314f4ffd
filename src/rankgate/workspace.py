"""A private checkout of a DVC project that shares its cache.

In it a run with other settings leaves the project's own files, params.yaml and dvc.lock alone, and
what either has computed the other does not compute again.
"""

import shutil
import subprocess
from pathlib import Path

from rankgate.errors import InputError, one_line
from rankgate.files import write_text

# A result of the project's own settings is none of the workspace's.
_OWN = ("dvc.lock", "results", "verdicts", "report.md", "leaderboard")


def sync(project: Path, folder: Path) -> None:
    """Bring the project's files into `folder` as they stand in the work tree.

    The files are those that git knows or would add, without what the pipeline wrote. Kept from an
    earlier time: dvc.lock and what its stages made, so that only what changed runs again.

    Raises:
        InputError: `project` is no git checkout.
    """
    files = {Path(name) for name in _listed(project) if Path(name).parts[0] not in _OWN}
    for name in files:
        source, target = project / name, folder / name
        if source.is_file() and not _same(source, target):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    kept = folder / "files.txt"
    before = kept.read_text(encoding="utf-8").splitlines() if kept.is_file() else []
    for name in {Path(line) for line in before} - files:
        (folder / name).unlink(missing_ok=True)
    write_text(kept, "".join(f"{name.as_posix()}\n" for name in sorted(files)))
    cache = (project / ".dvc/cache").absolute()
    write_text(
        folder / ".dvc/config.local", f"[core]\n    no_scm = true\n[cache]\n    dir = {cache}\n"
    )
    downloads = folder / "work/downloads"
    if not downloads.is_symlink():
        (project / "work/downloads").mkdir(parents=True, exist_ok=True)
        downloads.parent.mkdir(parents=True, exist_ok=True)
        downloads.symlink_to((project / "work/downloads").absolute())


def _listed(project: Path) -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(  # noqa: S603 — fixed words
            command, cwd=project, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or error
        raise InputError(f"{project}: no git checkout: {one_line(said)}") from None
    return [name for name in listed.stdout.split("\0") if name]


def _same(source: Path, target: Path) -> bool:
    return target.is_file() and source.read_bytes() == target.read_bytes()
