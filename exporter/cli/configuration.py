"""Read and check the settings. The command line has priority over the environment, and the environment over the file.

The file is TOML, in which ``${VAR}`` and ``${VAR:-default}`` are replaced by environment variables. In the environment
a setting is named ``EXPORTER_`` and its name in upper case: ``EXPORTER_ACCOUNT``.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from dataclasses import fields, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError
from exporter.input import formats
from exporter.openlineage.push.profiles import PushOptions
from exporter.openlineage.settings import LINEAGE, OFF, OpenLineageSettings
from exporter.privacy.filters import FILTER, PRIVACY, privacy_of
from exporter.settings import Settings, spelled_if_any
from exporter.system import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from _typeshed import DataclassInstance

_LONGEST_FILE: Final = 64 << 10
"""Largest settings file, in bytes: the time to parse TOML grows with the square of its size."""
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_TEXT, _TEXTS, _FLAG = "a text", "a text or a list of texts", "true or false"
_TIME, _TABLE, _WHOLE, _NUMBER = "a day or a time", "a table of texts", "a whole number", "a number"
_OF_TYPE: Final = {
    "str": _TEXT,
    "Literal": _TEXT,
    "tuple": _TEXTS,
    "bool": _FLAG,
    "int": _WHOLE,
    "float": _NUMBER,
    "Mapping": _TABLE,
}
"""The type of a field -> the kind of its values in a file, as messages name it."""
_FLAGS: Final = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def _kinds(settings: type[DataclassInstance], apart: Iterable[str] = ()) -> dict[str, str]:
    """The fields of a class of settings, each with the kind of its values."""
    types = {one.name: re.split(r"\W", str(one.type))[0] for one in fields(settings) if one.name not in apart}
    return {name: _OF_TYPE[kind] for name, kind in types.items()}


_ONLY_OPTIONS: Final = ("inputs", "out", "dry_run", "forget_user", "forget_before", "force", "validate")
SETTINGS: Final = {
    **_kinds(Settings, (*_ONLY_OPTIONS, "openlineage", "privacy")),
    "pseudonyms": _TEXT,
    "since": _TIME,
    "until": _TIME,
}
"""The settings of the file and of the environment, with the kinds of their values."""
TABLES: Final = {
    "openlineage": _kinds(OpenLineageSettings, LINEAGE),
    "push": _kinds(PushOptions),
    "serve": {"sensitive_tags": _TEXTS},
    "lineage": dict.fromkeys(LINEAGE, _TEXTS),
    "filter": dict.fromkeys(FILTER, _TEXTS),
    "privacy": dict.fromkeys(PRIVACY, _TEXTS),
}
"""The tables of the file, with their settings."""


def load(options: Mapping[str, Any], config: Path | None, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings from the command line (``options``; None: not given), the environment and the file. Raises
    UsageError.
    """
    _refuse_empty(options)
    file = _file(config, environ)
    lineage, filters, privacy_lists = (_lists(file, name, config) for name in ("lineage", "filter", "privacy"))
    from_inputs = formats.settings_of_inputs(options.get("inputs", ()))
    inputs = from_inputs.pop("inputs")
    of_file = {name: value for name, value in file.items() if name not in TABLES}
    values = {**from_inputs, **_checked(of_file, SETTINGS, config), **_environment(environ)}
    values |= {name: str(values[name]) for name in ("since", "until") if name in values}  # TOML has days and times
    values.update({name: value for name, value in options.items() if value is not None}, inputs=inputs)
    values |= {name: _names(values[name]) for name, kind in SETTINGS.items() if kind == _TEXTS and name in values}
    values["forget_user"] = _texts(values.get("forget_user", ()))
    times = values.pop("since", None), values.pop("until", None)
    privacy_settings = privacy_of(values.pop("pseudonyms", None), times, filters, privacy_lists)
    events = _openlineage(file, config, query_text=bool(values.get("query_text")))
    if "helpers" in lineage:
        events = replace(events, helpers=() if lineage["helpers"] == (OFF,) else lineage["helpers"])
    return Settings(**values, openlineage=events, privacy=privacy_settings)


def _refuse_empty(options: Mapping[str, Any]) -> None:
    """Raise UsageError for an empty option: usually a shell variable is not set, and ignoring the option would export
    names in clear, or other rows.
    """
    for name, value in options.items():
        if value == "" or (isinstance(value, list | tuple) and "" in value):
            raise UsageError(
                f"{'INPUT' if name == 'inputs' else name}: is empty; perhaps a shell variable is not set. Give it a "
                "value, or leave it out"
            )


def load_serve(config: Path, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """``sensitive_tags`` of the table ``[serve]`` of the file; empty where it is not given."""
    return _lists(_file(config, environ), "serve", config).get("sensitive_tags", ())


def load_push(options: Mapping[str, Any], config: Path | None, environ: Mapping[str, str] = os.environ) -> PushOptions:
    """The settings of a push from the command line (None: not given) and the table ``[push]`` of the file."""
    values = _table(_file(config, environ), "push", config)
    return PushOptions(**{**values, **{name: value for name, value in options.items() if value is not None}})


def _table(file: Mapping[str, Any], name: str, config: Path | None) -> dict[str, Any]:
    """The settings of a table in the file. Raises UsageError."""
    table = file.get(name, {})
    if not isinstance(table, dict):
        raise UsageError(f"{config}: {name} must be a table of settings, [{name}]")
    return _checked(table, TABLES[name], config, f"{name}.")


def _lists(file: Mapping[str, Any], name: str, config: Path | None) -> dict[str, tuple[str, ...]]:
    """The settings of a table whose values are lists of texts."""
    values = _table(file, name, config)
    return {key: _texts(value) for key, value in values.items()}


def _openlineage(file: Mapping[str, Any], config: Path | None, *, query_text: bool) -> OpenLineageSettings:
    values = _table(file, "openlineage", config)
    if values.get("sql") and not query_text:
        raise UsageError(
            f"{config}: openlineage.sql puts SQL text into events, which needs query_text; give --query-text too, or "
            "query_text = true"
        )
    values.setdefault("sql", query_text)
    if "job_name_from" in values:
        values["job_name_from"] = _names(values["job_name_from"])
    if values.get("letter_case", "upper") not in ("upper", "lower"):
        raise UsageError(f"{config}: openlineage.letter_case must be upper or lower, but is {values['letter_case']!r}")
    if "namespaces" in values:
        values["namespaces"] = {_canonical_namespace(name): to for name, to in values["namespaces"].items()}
    return OpenLineageSettings(**values)


def _canonical_namespace(namespace: str) -> str:
    """A dataset namespace with its account in canonical form; otherwise a mapping would silently match no name."""
    scheme, is_account, account = namespace.partition("snowflake://")
    return f"{is_account}{spelled_if_any(account)}" if is_account and not scheme else namespace


def _file(config: Path | None, environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings and tables of the file, whichever command reads it: a misspelt table is never passed over."""
    if config is None:
        return {}
    try:
        content = files.read(config, _LONGEST_FILE + 1)
    except OSError as error:
        raise UsageError(f"{config}: cannot be read: {error.strerror}") from None
    if len(content) > _LONGEST_FILE:
        raise UsageError(f"{config}: is larger than {_LONGEST_FILE >> 10} KiB, too large for a settings file")
    try:
        settings: dict[str, Any] = _with_variables(tomllib.loads(content.decode("utf-8")), environ, f"{config}: ")
    except UnicodeDecodeError as error:
        raise UsageError(f"{config}: is not UTF-8 at byte {error.start}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{config}: is not TOML: {error}") from None
    _refuse_unknown(settings, (*SETTINGS, *TABLES), config)
    return settings


def _with_variables(value: Any, environ: Mapping[str, str], key_path: str) -> Any:
    """The value with environment variables replaced. Raises UsageError for a variable that is not set and has no
    default; the message names the key (``key_path``).
    """
    if isinstance(value, dict):
        return {key: _with_variables(item, environ, f"{key_path}{key}: ") for key, item in value.items()}
    if isinstance(value, list):
        return [_with_variables(item, environ, key_path) for item in value]
    if not isinstance(value, str):
        return value

    def variable_value(match: re.Match[str]) -> str:
        name, default = match.group(1), match.group(2)
        text = environ.get(name, default)
        if text is None:
            raise UsageError(
                f"{key_path}the environment variable {name} is not set; set it, or write ${{{name}:-default}}"
            )
        return text

    return _VARIABLE.sub(variable_value, value)


def _refuse_unknown(values: Iterable[str], known: Sequence[str], config: Path | None, prefix: str = "") -> None:
    """Raise UsageError for an unknown key; the message names the most similar known one."""
    for key in values:
        if key not in known:
            similar = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {prefix}{similar[0]}?" if similar else f"known settings are {', '.join(known)}"
            raise UsageError(f"{config}: there is no setting {prefix}{key}; {hint}")


def _checked(values: dict[str, Any], known: Mapping[str, str], config: Path | None, prefix: str = "") -> dict[str, Any]:
    """The values. Raises UsageError for an unknown key, and for a value of another kind."""
    _refuse_unknown(values, tuple(known), config, prefix)
    for key, value in values.items():
        if not _is(known[key], value):
            raise UsageError(f"{config}: {prefix}{key} must be {known[key]}, but is {value!r}")
    return dict(values)


def _is(kind: str, value: Any) -> bool:
    """Whether a value is of a kind."""
    if isinstance(value, bool):
        return kind == _FLAG
    if isinstance(value, str):
        return kind in {_TEXT, _TEXTS, _TIME}
    if isinstance(value, list):
        return kind == _TEXTS and all(isinstance(item, str) for item in value)
    if isinstance(value, dict):
        return kind == _TABLE and all(isinstance(item, str) for item in value.values())
    return isinstance(value, {_WHOLE: int, _NUMBER: int | float, _TIME: date}.get(kind, ()))


def _environment(environ: Mapping[str, str]) -> dict[str, Any]:
    variables = {name: f"EXPORTER_{name.upper()}" for name in SETTINGS}
    return {
        name: _parsed(variable, environ[variable], SETTINGS[name])
        for name, variable in variables.items()
        if variable in environ
    }


def _parsed(variable: str, text: str, kind: str) -> Any:
    """The value in a variable of the environment."""
    if kind == _FLAG and text.lower() in _FLAGS:
        return _FLAGS[text.lower()]
    if kind == _WHOLE and re.fullmatch(r"\d{1,15}", text):
        return int(text)
    if kind in {_FLAG, _WHOLE}:
        raise UsageError(f"{variable} must be {kind}, but is {text!r}")
    return text


def _texts(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    """The names in a list, or in a text with commas."""
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
