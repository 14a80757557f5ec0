"""Java programs that the tests use as references, from Maven Central: pinned in ``tests/jars/*.lock``, kept in
``.venv``.

A lock file has a line ``group:artifact:version sha256`` for each jar; ``bin/jars NAME group:artifact:version …`` makes
it again. The jars come from ``MAVEN_REPOSITORY_URL``, else from the mirror of Maven Central in ``~/.m2/settings.xml``,
else from Maven Central itself. A jar without the pinned hash is refused.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.request import urlopen
from xml.etree import ElementTree as ET

import pytest

ROOT: Final = Path(__file__).parents[1]
LOCKS: Final = ROOT / "tests" / "jars"
CACHE: Final = ROOT / ".venv" / "share" / "jars"
CENTRAL: Final = "https://repo1.maven.org/maven2"
_SECONDS: Final = 60


@dataclass(frozen=True, order=True)
class Jar:
    """``coordinates``: ``group:artifact:version``; ``sha256`` in hexadecimal digits, empty before it is known."""

    coordinates: str
    sha256: str = ""

    @property
    def path(self) -> str:
        group, artifact, version = self.coordinates.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar"

    @property
    def file(self) -> Path:
        return CACHE / Path(self.path).name


def class_path(name: str) -> str:
    """The jars of ``tests/jars/NAME.lock`` as Java's ``-cp`` takes them, fetched where they are not there yet.

    Skips the test that asks, with the reason, where no repository answers.
    """
    jars = locked(name)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(fetch, jars))
    except HTTPError:  # it answers, and does not have what the lock file names
        raise
    except OSError as error:
        pytest.skip(f"the jars of tests/jars/{name}.lock cannot be fetched from {repository()}: {error}")
    return os.pathsep.join(str(jar.file) for jar in jars)


def java() -> str:
    """The command that starts Java: the machine's, as for Spark."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def locked(name: str) -> list[Jar]:
    """What a lock file pins."""
    lines = (LOCKS / f"{name}.lock").read_text(encoding="utf-8").splitlines()
    return [Jar(*line.split()) for line in lines if line and not line.startswith("#")]


def fetch(jar: Jar) -> Path:
    """The jar's file, complete and with the pinned hash. Raises OSError where no repository answers."""
    if jar.file.exists() and _sha256(jar.file) == jar.sha256:
        return jar.file
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=CACHE, suffix=".part", delete=False) as part:
        try:
            with urlopen(f"{repository()}/{jar.path}", timeout=_SECONDS, context=_certificates()) as answer:
                shutil.copyfileobj(answer, part)
            part.flush()
            found = _sha256(Path(part.name))
            assert found == (jar.sha256 or found), f"{jar.coordinates}: the hash is {found}, and {jar.sha256} is pinned"
            Path(part.name).replace(jar.file)
        finally:
            Path(part.name).unlink(missing_ok=True)
    return jar.file


@cache
def _certificates() -> ssl.SSLContext:
    """Read once: it takes longer than most jars."""
    return ssl.create_default_context()


def repository() -> str:
    """Where the jars come from, without a slash at its end."""
    return (os.environ.get("MAVEN_REPOSITORY_URL") or _mirror(Path.home() / ".m2" / "settings.xml") or CENTRAL).rstrip(
        "/"
    )


def _mirror(settings: Path) -> str | None:
    """The URL of the mirror that Maven's settings have for Maven Central."""
    if not settings.is_file():
        return None
    for mirror in ET.parse(settings).getroot().iterfind(".//{*}mirror"):
        mirrored = (mirror.findtext("{*}mirrorOf") or "").split(",")
        if {"*", "central", "external:*"} & {name.strip() for name in mirrored}:
            return mirror.findtext("{*}url")
    return None


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


# --- a lock made anew -------------------------------------------------------------------------------------------------

_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>of</groupId><artifactId>lock</artifactId><version>1</version><dependencies>{}</dependencies></project>"""
_DEPENDENCY: Final = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def lock(name: str, *coordinates: str) -> None:
    """Write ``tests/jars/NAME.lock``: the artifacts and all that they need at run time, as Maven (``mvn``) resolves."""
    jars = [Jar(one) for one in sorted(_resolved(coordinates))]
    with ThreadPoolExecutor(8) as pool:
        lines = [f"{jar.coordinates} {_sha256(file)}" for jar, file in zip(jars, pool.map(fetch, jars), strict=True)]
    head = f"# made by bin/jars {name} {' '.join(coordinates)}"
    (LOCKS / f"{name}.lock").write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def _resolved(coordinates: tuple[str, ...]) -> set[str]:
    with tempfile.TemporaryDirectory() as scratch:
        pom, found = Path(scratch, "pom.xml"), Path(scratch, "list.txt")
        pom.write_text(_POM.format("".join(_DEPENDENCY.format(*one.split(":")) for one in coordinates)))
        listed = ["dependency:list", "-DincludeScope=runtime", f"-DoutputFile={found}"]
        subprocess.run(["mvn", "--quiet", "--batch-mode", "--file", str(pom), *listed], check=True)
        parts = [line.split(":") for line in found.read_text().split() if line.count(":") >= 4]
    assert all(part[2] == "jar" and len(part) == 5 for part in parts), f"only plain jars can be pinned: {parts}"
    return {f"{group}:{artifact}:{version}" for group, artifact, _, version, _ in parts}


if __name__ == "__main__":
    lock(*sys.argv[1:])
