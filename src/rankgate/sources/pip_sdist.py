"""A program of its own: pip's finder and session fetch one sdist, and nothing is built.

`pip download` of an sdist runs the build backend inside it to learn its metadata. So only the
parts of pip that find and fetch are used here: they know its whole configuration (indexes,
folders of files, certificates, proxies, credentials), which no reading of `pip config` would.
They are no public interface, hence a process of its own: whatever they do in another version of
pip, rankgate sees an exit status and a line.

Words: name, version, sha256, the file to write. Status 3: there is no such sdist.
"""

import logging
import sys
from pathlib import Path
from typing import Any

MAX_BYTES = 1 << 30
_OPTIONS = ["--no-binary=:all:", "--ignore-requires-python", "--no-input", "--retries=1"]
_OPTIONS += ["--timeout=20", "--disable-pip-version-check"]


def main(name: str, version: str, sha256: str, target: str) -> int:
    from pip._internal.commands import create_command
    from pip._vendor.packaging.version import Version

    command: Any = create_command("download")
    with command.main_context():
        options, _ = command.parse_args(_OPTIONS)
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session, ignore_requires_python=True)
        wanted = Version(version)
        found = [c.link for c in finder.find_all_candidates(name) if c.version == wanted]
        links = [link for link in found if not link.is_wheel]
        # One that is said to have the hash; then those of which nothing is said; then any.
        links.sort(key=lambda link: (link.hash != sha256, link.hash is not None))
        for link in links[:1]:
            _save(session, link.url_without_fragment, Path(target))
            return 0
    return 3


def _save(session: Any, url: str, target: Path) -> None:
    with session.get(url, stream=True, headers={"Accept-Encoding": "identity"}) as response:
        response.raise_for_status()
        left = MAX_BYTES
        with target.open("wb") as file:
            for block in iter(lambda: response.raw.read(1 << 20), b""):
                left -= len(block)
                if left < 0:
                    raise ValueError(f"larger than {MAX_BYTES} bytes")
                file.write(block)


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(message)s")
    try:
        status = main(*sys.argv[1:])
    except Exception as error:  # whatever pip raises: its reader gets a line
        print(f"ERROR: {type(error).__name__}: {error}", file=sys.stderr)
        status = 1
    sys.exit(status)
