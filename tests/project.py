"""A private copy of this project, for tests that run the pipeline as its users do."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def hear_ctrl_c() -> None:
    """For a new process: a shell starts background jobs, such as CI's may be, with it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Project:
    """A git checkout with the project's files; commands run in it as in a fresh shell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("DVC_", "GIT_", "PYTHON", "RANKGATE_"))
        } | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(folder / "src"),
            "DVC_SITE_CACHE_DIR": str(folder.parent / "site-cache"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "test",
            "GIT_AUTHOR_EMAIL": "test@localhost",
            "GIT_COMMITTER_NAME": "test",
            "GIT_COMMITTER_EMAIL": "test@localhost",
        }

    def run(self, *command: str, status: int | None = 0) -> str:
        """What a command prints (both streams); its exit status must be `status`, if given."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        assert status is None or done.returncode == status, f"{command}\n{done.stdout}"
        return done.stdout

    def run_until(self, line: str, send: signal.Signals, *command: str) -> int:
        """Start a command and send its whole process group a signal once it prints `line`."""
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=hear_ctrl_c,
        )
        assert process.stdout is not None
        for printed in process.stdout:
            if line in printed:
                os.killpg(process.pid, send)
                break
        process.stdout.read()
        return process.wait()

    def read(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def replace(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        assert old in text, f"{old!r} is not in {path}"
        self.write(path, text.replace(old, new))

    def commit(self, message: str = "change") -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def stages_run(self, *command: str, status: int | None = 0) -> set[str]:
        """The names of the stages that a DVC command runs."""
        printed = self.run(*command, status=status)
        return {
            line.split("'")[1] for line in printed.splitlines() if line.startswith("Running stage")
        }

    def copy(self, folder: Path) -> "Project":
        """Another checkout with everything that this one has, its DVC cache included."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder)

    def results(self) -> dict[str, bytes]:
        """Path → bytes of everything that is compared between machines."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for top in ("results", "verdicts", "report.md")
            for path in sorted([self.folder / top, *(self.folder / top).rglob("*")])
            if path.is_file()
        }


def checkout(folder: Path) -> Project:
    """A new repository, on branch main, of this project's files as they stand in the work tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    project = Project(folder)
    project.run("git", "init", "--quiet", "--initial-branch=main")
    project.commit("start")
    # By content, so it can only save the download; a fresh machine fetches the wheel.
    downloads = ROOT / "work/downloads"
    if downloads.is_dir():
        shutil.copytree(downloads, folder / "work/downloads")
    return project
