"""What is read, and how much it is: each file counts once, and the session is sized for all of its input."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.cli import main
from exporter.engines import session
from exporter.engines.export import export
from exporter.errors import UsageError
from exporter.input import find
from exporter.input.find import InputOfViews, Inputs
from exporter.settings import Settings
from exporter.system.progress import Progress


@pytest.mark.parametrize(
    ("found", "size"),
    [((5, 7), 12), ((5, "none"), 5), ((5, None), None), ((None, 7), None), ((0, 0), 0)],
)
def test_sizes_add_up_where_they_are_known(found: tuple[int | str | None, ...], size: int | None) -> None:
    each = [None if one == "none" else Inputs((), (), one if isinstance(one, int) else None) for one in found]
    assert InputOfViews(*each).size == size


@pytest.mark.parametrize(
    "given",
    [
        "in", "in/**", "in/**/*.ndjson", "in in", "in/** in", "in in/../in", "in {}/in", "in linked", "in/below/../**",
        "in file:in", "in/a.ndjson in/below in/below/b.ndjson in/**/*.ndjson",
    ],
)  # fmt: skip
def test_each_file_is_read_once_by_however_many_names(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a link to a file that is read; its rows would be duplicates."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in" / "below").mkdir(parents=True)
    for name in ("a.ndjson", "below/b.ndjson"):
        (tmp_path / "in" / name).write_text(f'{{"query_id": "{name}"}}\n')
    (tmp_path / "in" / "below" / "notes.txt").write_text("")
    (tmp_path / "in" / "z.ndjson").symlink_to("a.ndjson")
    (tmp_path / "linked").symlink_to("in")
    once = find.find(["in"])
    found = find.find(given.format(tmp_path).split())
    assert [[Path(path).resolve() for path in one.paths] for one in found.sources] == [
        [tmp_path / "in" / "a.ndjson", tmp_path / "in" / "below" / "b.ndjson"]
    ]
    assert len(found.skipped) <= 1
    assert found.size == once.size


def test_a_query_history_counts_like_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, queries = tmp_path / "rows.ndjson", tmp_path / "history.ndjson"
    rows.write_text('{"query_id": "a"}\n')
    queries.write_text('{"query_id": "a"}\n' * 100)

    def started(size: int | None) -> None:
        raise UsageError(f"{size} bytes")

    monkeypatch.setattr(session, "start", started)
    with pytest.raises(UsageError, match=f"^{18 * 101} bytes$"):
        export(Settings((str(rows),), str(tmp_path / "out"), query_history=(str(queries),)), Progress())


@pytest.mark.parametrize(
    ("rows", "options", "is_told"),
    [(10, [], True), (10, ["--engine", "spark"], False), (70_000, [], False), (10, ["--update"], False)],
)
def test_a_small_input_is_told_before_spark_starts(
    rows: int,
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    is_told: bool,
) -> None:
    """Only who did not choose Spark, and where Spark would start."""

    def started(_: int | None) -> None:
        raise UsageError("Spark was started")

    monkeypatch.setattr(session, "start", started)
    (tmp_path / "rows.ndjson").write_text('{"query_id": "a", "query_start_time": "x"}\n' * rows)
    given = ["export", str(tmp_path / "rows.ndjson"), "--out", str(tmp_path / "out"), "--account", "A-B"]
    assert main([*given, *options]) == 2
    said = capsys.readouterr().err
    assert ("--engine local exports it in about a second" in said) == is_told
    assert ("Spark was started" in said) == ("--update" not in options)
