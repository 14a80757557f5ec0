"""The checks of ``bin/audit`` on the lock files: known vulnerabilities, licences, a bill of materials.

pip-audit asks a vulnerability service, cyclonedx-py writes the bill (SBOM) with the licences of each package, and this
module evaluates the results. A service without data would look like a clean result. So each service is first asked
about a package with well-known vulnerabilities; if it reports none, it counts as not reached.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Audit = Callable[[str, str], subprocess.CompletedProcess[str]]
    """A service and a text of pinned requirements -> how pip-audit ended, and its JSON."""

ROOT: Final = Path(__file__).parents[1]
LOCKS: Final = ("requirements.lock", "requirements-build.lock", "requirements-audit.lock", "requirements-docs.lock")
TOOLS: Final = ROOT / ".venv" / "audit" / "bin"
OUT: Final = ROOT / "out" / "audit"

DONE, FOUND, COULD_NOT_ASK = 0, 1, 75
"""Exit codes. 75 is EX_TEMPFAIL of sysexits.h: try again later; neither a clean result nor a fault of the project."""
SERVICES: Final = ("pypi", "osv")
KNOWN_BAD: Final = "jinja2==2.4.1"
"""A package with many vulnerabilities on record since 2014."""
ACCEPTED: Final[Mapping[str, str]] = {}
"""Ids of vulnerabilities that do not concern this program -> why. Empty: none is known."""

ALLOWED: Final = frozenset(
    ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0",
     "W3C-20150513", "ZPL-2.1", "Zlib")
)  # fmt: skip
"""SPDX ids of the licences that a package may have beside our own, Apache-2.0."""
_CLASSIFIERS: Final = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Zope Public License": "ZPL-2.1",
}
"""What packages without an SPDX id say in their trove classifiers -> the id. It is the family that counts here."""
_NO_PART_OF_THE_LOCK: Final = {"pip"}
"""It comes with Python."""


@dataclass
class Answer:
    """What one part of the audit found. ``unasked``: why nothing, or not everything, could be asked."""

    said: str
    found: list[str] = field(default_factory=list)
    unasked: list[str] = field(default_factory=list)


def code(answers: Iterable[Answer]) -> int:
    """The exit code: what was found counts more than what could not be asked."""
    all_ = list(answers)
    if any(one.found for one in all_):
        return FOUND
    return COULD_NOT_ASK if any(one.unasked for one in all_) else DONE


# --- what is pinned ---------------------------------------------------------------------------------------------------


def pins(lock: str) -> list[Requirement]:
    """The requirements of a lock file's text, with their markers, without their hashes."""
    lines = (line.rstrip(" \\") for line in lock.splitlines() if re.match(r"[A-Za-z0-9]", line))
    return [Requirement(line) for line in lines]


def questions(locks: Iterable[str]) -> list[str]:
    """The pins of all locks as texts that have each name once: a package may be pinned twice, for two Pythons."""
    versions: dict[str, dict[str, None]] = {}
    for one in (pin for lock in locks for pin in pins(lock)):
        versions.setdefault(one.name, {})[str(one.specifier)] = None
    rounds = max(len(of_name) for of_name in versions.values())
    texts = ([f"{name}{list(of)[turn]}\n" for name, of in versions.items() if turn < len(of)] for turn in range(rounds))
    return ["".join(lines) for lines in texts]


# --- vulnerabilities --------------------------------------------------------------------------------------------------


def vulnerabilities(asked: Iterable[str], audit: Audit, services: Iterable[str] = SERVICES) -> Answer:
    """Those that the first service which knows any tells of the pinned packages."""
    refused = []
    for service in services:
        reason = unfit(audit(service, KNOWN_BAD + "\n"))
        if not reason:
            return judged(service, [audit(service, text) for text in asked])
        refused.append(f"{service}: {reason}")
    return Answer("no service could be asked, so nothing is known", unasked=refused)


def unfit(done: subprocess.CompletedProcess[str]) -> str:
    """Why a service that was asked about KNOWN_BAD cannot be relied on; empty where it can."""
    entries = _entries(done)
    if entries is None:
        return _last_line(done.stderr)
    if any(one.get("vulns") for one in entries):
        return ""
    skipped = [str(one["skip_reason"]) for one in entries if "skip_reason" in one]
    return skipped[0] if skipped else f"it answers, and knows no vulnerability of {KNOWN_BAD}, which has many"


def judged(service: str, answers: Iterable[subprocess.CompletedProcess[str]]) -> Answer:
    """What the service said of the pinned packages."""
    answer, entries = Answer(""), []
    for done in answers:
        some = _entries(done)
        if some is None:
            answer.unasked.append(f"{service}: {_last_line(done.stderr)}")
        entries += some or []
    answer.unasked += [f"{one['name']}: {one['skip_reason']}" for one in entries if "skip_reason" in one]
    asked = [one for one in entries if "skip_reason" not in one]
    answer.found = [line for one in asked for line in _known(one)]
    answer.said = f"{len(asked)} packages, asked of {service}; known vulnerabilities: {len(answer.found) or 'none'}"
    return answer


def _known(entry: Mapping[str, Any]) -> Iterator[str]:
    for one in entry["vulns"]:
        if not {one["id"], *one.get("aliases", ())} & set(ACCEPTED):
            fixed = ", ".join(one["fix_versions"]) or "no version"
            yield f"{entry['name']} {entry['version']}: {one['id']}, fixed in {fixed}"


def _entries(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]] | None:
    """The packages in pip-audit's JSON; None where it gave none, as when the service cannot be reached."""
    try:
        entries: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return None
    return entries


def _last_line(text: str) -> str:
    return next((line.strip()[:300] for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


def pip_audit(service: str, requirements: str) -> subprocess.CompletedProcess[str]:
    """Ask a service by pip-audit, about pinned requirements, and nothing that they in turn require."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(requirements)
        file.flush()
        command = [str(TOOLS / "pip-audit"), "--vulnerability-service", service, "--requirement", file.name]
        options = ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off", "--timeout", "15"]
        return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


# --- bill of materials and licences -----------------------------------------------------------------------------------


def licences(bill: Mapping[str, Any]) -> Answer:
    """The licences of the packages of a bill; one that is not allowed, or that nobody knows, is a finding."""
    components = bill["components"]
    found = [
        f"{one['name']} {one['version']}: {', '.join(sorted(names)) or 'no licence that can be read'}"
        for one in components
        if not (names := licence(one)) or not names <= ALLOWED
    ]
    return Answer(f"{len(components)} packages; with a licence that is not allowed: {len(found) or 'none'}", found)


def licence(component: Mapping[str, Any]) -> set[str]:
    """The SPDX ids of a package in the bill: all that its expression names, or else its classifiers."""
    given = component.get("licenses", [])
    ids = {one.get("expression") or one["license"].get("id", "") for one in given} - {""}
    named = [one["license"].get("name", "").rpartition(" :: ")[2] for one in given if "license" in one]
    texts = ids or {_CLASSIFIERS.get(name, name) for name in named if name not in ("OSI Approved", "DFSG approved")}
    words = {word for text in texts for word in re.split(r"[\s()]+", text)} if ids else texts
    return words - {"AND", "OR", "WITH", ""}


def contents(bill: Mapping[str, Any], locks: Iterable[str]) -> Answer:
    """Whether the bill has the packages that are pinned, and no other: else it is a bill of something else."""
    pinned = {
        _key(one.name, str(one.specifier).removeprefix("==")) for lock in locks for one in pins(lock) if _holds(one)
    }
    there = {_key(one["name"], one["version"]) for one in bill["components"] if one["name"] not in _NO_PART_OF_THE_LOCK}
    found = [f"{name} is installed and not pinned: remove .venv, and run bin/setup" for name in sorted(there - pinned)]
    found += [f"{name} is pinned and not installed: run bin/setup" for name in sorted(pinned - there)]
    return Answer(f"{len(bill['components'])} packages, CycloneDX {bill['specVersion']}", found)


def _key(name: str, version: str) -> str:
    return f"{canonicalize_name(name)} {version}"


def _holds(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate()


def write_bill(file: Path) -> None:
    """The bill of what is installed in .venv, checked against CycloneDX's own schema. The same packages give the same
    bytes.
    """
    command = [str(TOOLS / "cyclonedx-py"), "environment", "--pyproject", str(ROOT / "pyproject.toml")]
    options = ["--output-reproducible", "--validate", "--output-format", "JSON", "--output-file", str(file)]
    subprocess.run([*command, *options, sys.executable], check=True)


def shown(name: str, answer: Answer) -> Iterator[str]:
    """The lines of an answer for people."""
    yield f"{name:18} {answer.said}"
    yield from (f"  {line}" for line in answer.found)
    yield from (f"  could not ask: {line}" for line in answer.unasked)


def main() -> int:
    """Ask everything, print what was said and give the exit code."""
    OUT.mkdir(parents=True, exist_ok=True)
    locks = {name: (ROOT / name).read_text(encoding="utf-8") for name in LOCKS}
    write_bill(OUT / "sbom.cdx.json")
    bill = json.loads((OUT / "sbom.cdx.json").read_text(encoding="utf-8"))
    answers = {
        "vulnerabilities": vulnerabilities(questions(locks.values()), pip_audit),
        "licences": licences(bill),
        "bill of materials": contents(bill, [locks["requirements.lock"], locks["requirements-build.lock"]]),
    }
    sys.stdout.writelines(f"{line}\n" for name, answer in answers.items() for line in shown(name, answer))
    sys.stdout.write(f"\nThe bill of materials is in {(OUT / 'sbom.cdx.json').relative_to(ROOT)}\n")
    return code(answers.values())


if __name__ == "__main__":
    sys.exit(main())
