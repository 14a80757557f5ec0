"""Keys and pseudonyms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from exporter.errors import UsageError
from exporter.privacy.key import PSEUDONYM, Key, may_be_read_by_others
from tests import exports
from tests.privacy.canaries import row

if TYPE_CHECKING:
    from pathlib import Path

KEY = Key(b"a key of 24 bytes, ASCII")


def test_a_pseudonym_is_of_one_name_and_one_key() -> None:
    names = ("JSMITH", "jsmith", "J.SMITH", "", "é", "e\u0301", "\ud800", "x" * 10_000)
    made = [key.pseudonym(name) for key in (KEY, Key(b"another key of 24 bytes.")) for name in names]
    assert len(set(made)) == len(made)
    assert all(PSEUDONYM.fullmatch(one) for one in made)
    assert made[0] == Key(KEY.secret).pseudonym("JSMITH")


def test_a_pseudonym_is_the_same_in_every_version() -> None:
    """What was exported before has to meet what is exported next: this value never changes."""
    assert KEY.pseudonym("JSMITH") == "USER_FA6A36A5A8CBFFA366ACE9"


def test_a_pseudonym_stays_what_it_is_and_that_of_another_key_does_not() -> None:
    own, other = KEY.pseudonym("JSMITH"), Key(b"another key of 24 bytes.").pseudonym("JSMITH")
    assert KEY.is_pseudonym(own)
    assert KEY.pseudonym(own) == own
    assert not KEY.is_pseudonym(other)
    assert KEY.pseudonym(other) != other
    assert not KEY.is_pseudonym(own[:-1] + ("0" if own[-1] != "0" else "1"))


def test_a_key_is_not_shown() -> None:
    assert "24 bytes" not in repr(KEY)
    assert KEY.fingerprint != Key(b"another key of 24 bytes.").fingerprint
    assert KEY.fingerprint.upper() not in KEY.pseudonym("fingerprint")


def test_white_space_around_a_key_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"\n a key of 24 bytes, ASCII\r\n")
    assert Key.read(str(path)) == KEY


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"short", "has 5 bytes"),
        (b" " * 99, "has 0 bytes"),
        (b"", "openssl rand"),
        (b"s3cret" * 9999, "larger than 4096"),
    ],
    ids=["short", "spaces", "empty", "long"],  # else the key would be in the name of the folder, and so in the message
)
def test_what_is_no_key(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=words) as error:
        Key.read(str(path))
    assert str(path) in str(error.value)
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("path", ["nowhere/key", ".", "a\0b"])
def test_a_key_that_cannot_be_read(path: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be read.*openssl rand"):
        Key.read(path)


def test_the_name_of_a_file_that_is_there_is_shown(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{tmp_path}: the key cannot be read"):
        Key.read(str(tmp_path))


@pytest.mark.parametrize("text", ["SECRETKEYTEXT0123456789", "/SECRETKEYTEXT/0123+=", "SECRETKEYTEXT" * 99])
@pytest.mark.parametrize("place", ["option", "environment", "file"])
def test_the_text_of_a_key_in_place_of_its_file_is_not_shown(
    text: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The usual slip: a secret is put into the variable itself, and messages go to logs."""
    rows = exports.ndjson([row(1, "JSMITH")], tmp_path / "rows.ndjson")
    options: tuple[str, ...] = ("--pseudonyms", text) if place == "option" else ()
    if place == "environment":
        monkeypatch.setenv("EXPORTER_PSEUDONYMS", text)
    if place == "file":
        config = tmp_path / "exporter.toml"
        config.write_text(f"pseudonyms = {json.dumps(text)}\n")
        options = ("--config", str(config))
    assert exports.export([rows], tmp_path / "out", *options) == 2
    told = "".join(capsys.readouterr())
    assert "SECRETKEY" not in told
    assert "pseudonyms: the key cannot be read" in told
    assert "the path of" in told


@pytest.mark.parametrize(
    "value", ['["SECRETKEYTEXT0123456789"]', '{ of = "SECRETKEYTEXT" }', '"SECRETKEYTEXT', "SECRETKEYTEXT"]
)
def test_a_key_in_settings_of_another_kind_is_not_shown(
    value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "exporter.toml"
    config.write_text(f"pseudonyms = {value}\n")
    assert exports.export([tmp_path / "rows.ndjson"], tmp_path / "out", "--config", str(config)) == 2
    told = "".join(capsys.readouterr())
    assert str(config) in told
    assert "SECRETKEY" not in told


def test_who_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(KEY.secret)
    told = {}
    for mode in (0o600, 0o400, 0o640, 0o604):
        path.chmod(mode)
        told[mode] = may_be_read_by_others(str(path))
    assert told == {0o600: False, 0o400: False, 0o640: True, 0o604: True}
