"""The folder that an export leaves: written beside its place and moved there when it is complete.

An old folder stays readable until the new one takes its place; a run that fails leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from pyspark.sql import Observation
from pyspark.sql import functions as F

from exporter.errors import UsageError

if TYPE_CHECKING:
    from types import TracebackType

    from pyspark.sql import DataFrame

_MARKS: Final = ("manifest.json", "report.json")


@dataclass(frozen=True)
class Counted:
    """A table and the number of its rows."""

    table: DataFrame
    count: int


class Publication:
    """A folder in the making: ``with Publication(out, replace) as place: …; place.publish()``."""

    def __init__(self, out: Path, *, replace: bool) -> None:
        """``out`` must not be there, be empty, or (with ``replace``) be what an export left."""
        self.out = out.absolute()
        if self.out.exists() and not _may_take(self.out, replace=replace):
            raise UsageError(_refusal(out, replace=replace))
        self.out.parent.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix=f".{self.out.name}.", dir=self.out.parent))
        self.work = self.folder / ".work"
        self._kept: dict[str, DataFrame] = {}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def keep(self, table: DataFrame, name: str) -> DataFrame:
        """The table, stored in Parquet below the folder and read back."""
        path, spark = str(self.folder / name), table.sparkSession
        table.write.mode("overwrite").parquet(path)
        stored = spark.read.schema(table.schema).parquet(path)
        # Spark plans no exchange where it knows that there is one partition: small inputs need none at all.
        is_one = spark.conf.get("spark.sql.shuffle.partitions") == "1"
        self._kept[name] = stored.coalesce(1) if is_one else stored
        return self._kept[name]

    def kept(self, name: str) -> DataFrame:
        """The table that was stored last under this name."""
        return self._kept[name]

    def counted(self, table: DataFrame, name: str) -> Counted:
        """The table, stored, with the number of its rows."""
        seen = Observation()
        stored = self.keep(table.observe(seen, F.count(F.lit(1)).alias("n")), name)
        return Counted(stored, seen.get["n"])

    def lines(self, texts: DataFrame, name: str, ending: str, footer: str = "") -> int:
        """One-column text, written as ``NAME/part-00000.ENDING`` and so on, each with ``footer`` at its end; returns
        the number of rows.
        """
        target = self.folder / name
        parts, count = self._written(texts, f"{name}-{ending}")
        target.mkdir(parents=True, exist_ok=True)
        for old in target.glob(f"*.{ending}"):
            old.unlink()
        for number, part in enumerate(parts):
            if footer:
                _append(part, footer)
            part.rename(target / f"part-{number:05d}.{ending}")
        return count

    def document(self, texts: DataFrame, name: str, header: str, footer: str = "") -> int:
        """One-column text as one file ``name``, from ``header`` to ``footer``; returns the number of rows."""
        parts, count = self._written(texts.coalesce(1), name)
        with (self.folder / name).open("wb") as file:
            file.write(header.encode())
            for part in parts:
                with part.open("rb") as lines:
                    shutil.copyfileobj(lines, file)
            file.write(footer.encode())
        return count

    def _written(self, texts: DataFrame, name: str) -> tuple[list[Path], int]:
        written, seen = self.work / f"{name}-text", Observation()
        texts.observe(seen, F.count(F.lit(1)).alias("n")).write.mode("overwrite").text(str(written))
        return sorted(part for part in written.glob("part-*") if part.stat().st_size), int(seen.get["n"])

    def text(self, name: str, content: str) -> None:
        """A small file."""
        (self.folder / name).write_text(content, encoding="utf-8")

    def publish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest, drop what was only for the work, and move the folder to its place."""
        shutil.rmtree(self.work, ignore_errors=True)
        for leftover in [
            *self.folder.rglob(".*.crc"),
            *self.folder.rglob("_SUCCESS"),
            *self.folder.rglob("._SUCCESS.crc"),
        ]:
            leftover.unlink(missing_ok=True)
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        listed = [_described(path, self.folder) for path in files]
        self.text("manifest.json", json.dumps({**manifest, "files": listed}, indent=1, default=str) + "\n")
        self.folder.chmod(0o777 & ~_umask())
        self._move()

    def _move(self) -> None:
        old = self.folder.with_name(f"{self.folder.name}.old")
        if self.out.exists():
            self.out.rename(old)
        self.folder.rename(self.out)
        shutil.rmtree(old, ignore_errors=True)


def _append(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as end:
        end.write(text)


def _may_take(out: Path, *, replace: bool) -> bool:
    if not out.is_dir():
        return False
    is_empty = not any(out.iterdir())
    return is_empty or (replace and any((out / mark).is_file() for mark in _MARKS))


def _refusal(out: Path, *, replace: bool) -> str:
    if out.is_dir() and not replace:
        return f"{out}: is there already; give --replace to put the new output in its place, or another --out"
    return f"{out}: is there already and is not what an export left, so it is not replaced; give another --out"


def _described(path: Path, folder: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": path.relative_to(folder).as_posix(), "bytes": path.stat().st_size, "sha256": digest}


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
