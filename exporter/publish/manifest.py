"""``manifest.json``: the files of an export with sizes and checksums, whether DIR still matches it, and which files in
DIR no export wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from exporter.errors import UsageError
from exporter.system.files import everything_in, refuse_unreadable, syntax_of
from exporter.system.folders import MARK, steady

Json = dict[str, Any]
NAME: Final = "manifest.json"
FORMAT: Final = "access-history-exporter"
"""The value of ``format`` in the manifest of an export."""
_BEFORE_FORMAT: Final = {"version", "model", "input", "rows_in", "settings", "files"}
"""The keys of a manifest by a version that did not write ``format`` yet."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_PART: Final = "part-"
_MARK: Final = re.compile(r"-[0-9a-f]{12}(?=(\.[^/.]*)+$)")
"""The mark in a file's name whose plain name was taken (:mod:`exporter.engines.hadoop`)."""
_BESIDE: Final = (("report.json",), ("log.json",), ("export.ttl", "graph"))
"""What an export writes beside its manifest: a folder with one of these groups is an export, or what is left of one."""
_READ: Final = (".ttl", ".nt", ".jsonld", ".ndjson")
"""The endings of the files in the folders of DIR that are read, all of a folder together."""
DELIVERIES: Final = "push"
"""The folder in DIR that belongs to ``exporter push``; it is not part of the output."""
_OF_PUSH: Final = re.compile(rf"{DELIVERIES}/[^/]+/(ledger\.txt|set-aside\.ndjson|reduced\.ndjson|summary\.json)")
"""The files that a push writes."""
_LAYOUT: Final = re.compile(
    rf"(changes|events|facts|graph|quarantine|state(/(clones|open|parents|rows|things))?|{DELIVERIES}(/[^/]+)?)"
)
"""The folders of an export and its pushes that may be empty."""
WORK: Final = ".work"
"""The folder for temporary files in a folder under construction."""


def file_entries(folder: Path, before: Path | None = None) -> list[Json]:
    """Path, bytes and sha256 of all files below a folder, sorted. Files that are hard links to files of ``before`` are
    taken from its manifest, so that an update does not read everything.
    """
    known_entries = {entry["path"]: entry for entry in entries(read(before) if before else None) or ()}
    paths = [path for path in sorted(sizes(folder)) if path != MARK]
    same = {
        path: known_entries[path]
        for path in paths
        if path in known_entries and _is_same(f"{folder}/{path}", f"{before}/{path}")
    }
    paths_to_read = [folder / path for path in paths if path not in same]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        by_path = same | {
            entry["path"]: entry for entry in threads.map(lambda path: _file_entry(path, folder), paths_to_read)
        }
    return [by_path[path] for path in paths]


def _is_same(path: str, other: str) -> bool:
    """Whether both are one file."""
    try:
        return os.path.samefile(path, other)  # noqa: PTH121 - many paths
    except FileNotFoundError:
        return False


def entries(manifest: str | None) -> list[Json] | None:
    """The files that a manifest lists; None if the text is not a manifest."""
    try:
        files = json.loads(manifest or "")["files"]
        return [
            {"path": str(file["path"]), "bytes": int(file["bytes"]), "sha256": str(file["sha256"])} for file in files
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def of_export(manifest: str | None) -> list[Json] | None:
    """The files that the manifest of an export lists; None if no export wrote the text. Former versions of the program
    wrote no ``format``: their manifests are recognised by their keys.
    """
    try:
        content = json.loads(manifest or "")
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or not isinstance(content.get("version"), str):
        return None
    if content.get("format") != FORMAT and ("format" in content or not content.keys() >= _BEFORE_FORMAT):
        return None
    files = entries(manifest)
    return files if files and all(_DIGEST.fullmatch(file["sha256"]) for file in files) else None


def read(folder: Path) -> str | None:
    """The text of a folder's manifest; None if there is none that can be read."""
    return _text(f"{folder}/{NAME}")


def _text(name: str) -> str | None:
    path = Path(name)
    try:  # a pipe would be waited for
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
    except OSError:
        return None


def refuse_in_export(
    shown: str,
    above: Iterable[Path | str],
    text: Callable[[str], str | None] = _text,
    is_there: Callable[[str], bool] = os.path.isfile,
) -> None:
    """Raise UsageError if a folder of the user is in an export, which is replaced as a whole. ``above``: the folders
    that it is in, without links. ``text``: the text of a file, None if there is none; ``is_there``: whether there is a
    file. Both are of this machine unless others are given.
    """
    folder = _export_of(above, text, is_there)
    if folder is not None:
        raise UsageError(
            f"{shown}: is in {folder}, the folder of another export, which is replaced as a whole; give a folder "
            "that is not in it. Nothing was changed"
        )


def _export_of(
    above: Iterable[Path | str], text: Callable[[str], str | None], is_there: Callable[[str], bool]
) -> str | None:
    for folder in map(str, above):
        files = of_export(text(f"{folder}/{NAME}"))
        if files and any(is_there(f"{folder}/{file['path']}") for file in files):
            return folder
    return None


def export_of(path: Path) -> Path | None:
    """The export that a file or folder is in, given without links; None if it is in none."""
    folder = _export_of(path.parents, _text, os.path.isfile)
    return None if folder is None else Path(folder)


class ManifestDiff(NamedTuple):
    """The differences of a folder from its manifest, as sorted paths. ``others``: files that the manifest does not
    name. ``changed``: files with other content than it says. ``missing``: files that it names and are not there.
    ``is_any``: whether any file is as the manifest says.
    """

    others: list[str]
    changed: list[str]
    missing: list[str]
    is_any: bool


def diff_files(files: list[Json], sizes_of: Mapping[str, int], is_same: Callable[[Json], bool]) -> ManifestDiff:
    """Compare the entries of a manifest with the sizes of the files in its folder (``sizes_of``; negative for links,
    pipes and devices). ``is_same``: whether a file of the right size has the right content.
    """
    expected = _expected(files)
    unchanged = {path for path, entry in expected.items() if sizes_of.get(path) == entry["bytes"] and is_same(entry)}
    own = {NAME, *filter(_OF_PUSH.fullmatch, sizes_of)}
    unnamed = [path for path in sizes_of if path not in expected and path not in own]
    changed = [path for path in expected if path in sizes_of and path not in unchanged]
    return ManifestDiff(sorted(unnamed), sorted(changed), sorted(expected.keys() - sizes_of.keys()), bool(unchanged))


def _expected(files: list[Json]) -> dict[str, Json]:
    """Path -> entry of each file that a folder with this manifest has."""
    expected = {file["path"]: file for file in files}
    return expected | {name: {**expected[path], "path": name} for path, name in copies(files).items()}


def is_temporary(path: str) -> bool:
    """Whether a path in a folder under construction is not part of the output."""
    return path == MARK or path.startswith(f"{WORK}/")


def sizes(folder: Path, *, with_empty: bool = False) -> dict[str, int]:
    """Path in a folder -> size in bytes of each file below it; -1 for links, pipes and devices. Links are not
    followed. ``with_empty``: also the empty folders below it, as paths that end in a slash.
    """
    by_path: dict[str, int] = {}
    begin = len(f"{folder}/")
    for parent, folders, names in os.walk(folder, onerror=refuse_unreadable):
        for path in (f"{parent}/{name}" for name in (*names, *folders)):
            status = os.lstat(path)
            if not stat.S_ISDIR(status.st_mode):
                by_path[path[begin:]] = status.st_size if stat.S_ISREG(status.st_mode) else -1
        if with_empty and parent[begin:] and not folders and not names:
            by_path[f"{parent[begin:]}/"] = 0
    return by_path


def diff_folder(folder: Path) -> ManifestDiff | None:
    """A folder of this machine compared with its manifest; None if it has no manifest of an export.

    Reading a large export would take longer than an update of it. So the content of a file is read only if the file was
    written after the manifest, which an export writes last.
    """
    files = of_export(read(folder))
    if files is None:
        return None
    since = (folder / NAME).stat().st_mtime_ns

    def is_same(entry: Json) -> bool:
        is_older = os.lstat(f"{folder}/{entry['path']}").st_mtime_ns < since
        return is_older or bool(_file_entry(folder / entry["path"], folder)["sha256"] == entry["sha256"])

    present = sizes(folder, with_empty=True)
    known = {f"{parent}/" for file in files for parent in parents(file["path"])}
    for path in [path for path in present if path.endswith("/")]:
        if path in known or _LAYOUT.fullmatch(path[:-1]):
            del present[path]
    return diff_files(files, present, is_same)


def parents(path: str) -> Iterator[str]:
    """The folders that a path in DIR is in, without DIR."""
    while path := path.rpartition("/")[0]:
        yield path


def _file_entry(path: Path, folder: Path) -> Json:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"path": path.relative_to(folder).as_posix(), "bytes": file.tell(), "sha256": digest}


def text(content: Json) -> str:
    """The manifest as JSON text."""
    return json.dumps(content, indent=1, default=str) + "\n"


def plain(path: str) -> str:
    """A path without the mark.

    >>> plain("a/part-00000-0123456789ab.nt.gz"), plain("a/part-00000.ttl")
    ('a/part-00000.nt.gz', 'a/part-00000.ttl')
    """
    return _MARK.sub("", path)


def copies(files: Iterable[Json]) -> dict[str, str]:
    """Path -> plain path, for marked files that people and scripts look for by name (``report.json``)."""
    marked = [file["path"] for file in files if plain(file["path"]) != file["path"]]
    return {path: plain(path) for path in marked if not path.rpartition("/")[2].startswith(_PART)}


def sync(folder: Path) -> None:
    """Write the folders and the new files of a folder to the disk, so that they survive a power failure. A file with
    several hard links was taken over from an export, which wrote it to the disk.
    """
    paths = list[str]()
    for parent, _, names in os.walk(folder):
        paths += [parent, *(path for path in (f"{parent}/{name}" for name in names) if os.lstat(path).st_nlink == 1)]
    number = os.cpu_count() or 1
    with ThreadPoolExecutor(number) as threads:
        list(threads.map(_sync, (paths[start::number] for start in range(number))))


def _sync(paths: Iterable[str]) -> None:
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def problems(folder: Path) -> list[str]:
    """The differences from the manifest, one sentence per file; empty for a folder that was not made by an export.

    Files of a push are ignored. If the folder is replaced meanwhile, it is checked again.
    """
    return steady(folder, lambda: list(_problems(folder)))


def _problems(folder: Path) -> Iterator[str]:
    manifest = read(folder)
    files = of_export(manifest)
    if files is None:
        if manifest is not None or _is_left(folder):
            yield _without_manifest(folder, manifest)
        return
    expected = _expected(files)
    present = {path.relative_to(folder).as_posix() for path in everything_in(folder) if path.is_file()}
    for path, file in expected.items():
        wrong = _difference(folder, file) if path in present else "is missing"
        if wrong:
            yield f"{folder / path}: {wrong}"
    for path in sorted(present - expected.keys() - {NAME, MARK}):
        if not path.startswith(f"{DELIVERIES}/"):
            yield f"{folder / path}: is not in {NAME}, so it is not part of the export"


def _is_left(folder: Path) -> bool:
    """Whether a folder without a manifest of an export is what is left of one, as after a copy that did not end."""
    return any(all((folder / name).exists() for name in group) for group in _BESIDE)


def _without_manifest(folder: Path, manifest: str | None) -> str:
    fault = "is missing or cannot be read" if manifest is None else "is damaged"
    return f"{folder / NAME}: {fault}, so the files of the export are not known"


def refuse_incomplete(folder: Path, part: str, what: str, do: str = "") -> None:
    """Raise UsageError if a file of an export is missing, or has another size than its manifest says, or if there is a
    file of the kind that is read which the manifest does not name: an answer would be wrong without a word. Also if the
    manifest of an export is lost or damaged. A folder that is no export is not checked.

    ``part``: the file in DIR that is needed, or the folder, such as ``graph``. ``what``: what would lack their content,
    such as ``answers``. ``do``: what a person can do beside an export of all rows, as the sentence goes on.
    """
    steady(folder, lambda: _refuse_incomplete(folder, part, what, do))


def _refuse_incomplete(folder: Path, part: str, what: str, do: str) -> None:
    manifest = read(folder)
    files = of_export(manifest)
    if files is None:
        if _is_left(folder):
            raise UsageError(f"{_without_manifest(folder, manifest)}. Export the rows again{do}")
        return
    needed = {path: file for path, file in _expected(files).items() if f"{path}/".startswith(f"{part}/")}
    wrong = [(path, fault) for path, file in needed.items() if (fault := _of_other_size(folder / path, file["bytes"]))]
    if wrong:
        (path, fault), more = wrong[0], len(wrong) - 1
        more_files = f" (and {more:,} more files of {part} are not as the export wrote them)" if more else ""
        raise UsageError(
            f"{folder / path}: {fault}{more_files}, so {what} would lack what it held. Export the rows again{do}"
        )
    inside = (path.relative_to(folder).as_posix() for path in everything_in(folder / part))
    present = [part] if (folder / part).is_file() else [path for path in inside if syntax_of(PurePath(path)) in _READ]
    other = min((path for path in present if path not in needed), default=None)
    if other is not None:
        raise UsageError(
            f"{folder / other}: is not in {NAME}, so it is not part of the export, but {what} would have what it holds"
            f". Move it elsewhere, or export the rows again{do}"
        )


def _of_other_size(path: Path, size: int) -> str | None:
    """Why a file is not the one that the manifest lists, as far as its size says so; None if it may be."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not stat.S_ISREG(status.st_mode):
        return "is not a file"
    return None if status.st_size == size else f"has {status.st_size:,} bytes, but {NAME} says {size:,}"


def _difference(folder: Path, file: Json) -> str | None:
    try:
        entry = _file_entry(folder / file["path"], folder)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if entry["bytes"] != file["bytes"]:
        return f"has {entry['bytes']:,} bytes, but {NAME} says {file['bytes']:,}"
    return None if entry == file else f"has been changed: its sha256 is not the one in {NAME}"
