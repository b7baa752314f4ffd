"""The build also ships the files that a project is made of; all else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FILES = (".dvc/config", ".dvcignore", "conf", "dvc.yaml", "stages")


class WithProjectFiles(build_py):
    """Copies dvc.yaml, conf/ and stages/ to rankgate/project/ of a wheel."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # the checkout has them
            return
        target = Path(self.build_lib, "rankgate/project")
        for name in FILES:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if Path(name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(name, target / name, ignore=ignored, dirs_exist_ok=True)
            else:
                shutil.copyfile(name, target / name)


setup(cmdclass={"build_py": WithProjectFiles})
