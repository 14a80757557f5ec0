"""Read and check the settings. The command line has priority over the environment, and the environment over the file.

The file is TOML, in which ``${VAR}`` and ``${VAR:-default}`` are replaced by environment variables. In the environment
a setting is named ``EXPORTER_`` and its name in upper case: ``EXPORTER_ACCOUNT``.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError
from exporter.input import formats
from exporter.openlineage.push.profiles import Choices
from exporter.openlineage.settings import LINEAGE, OFF, OpenLineageSettings
from exporter.privacy.filters import FILTER, PRIVACY, privacy_of
from exporter.settings import DEFAULT_OUTPUTS, GRAPH_FORMATS, Settings, spelled
from exporter.system import files as given_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LONGEST_FILE: Final = 64 << 10
"""Largest settings file, in bytes: the time to parse TOML grows with the square of its size."""
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_TEXT, _TEXTS, _FLAG, _NUMBER = "a text", "a text or a list of texts", "true or false", "a whole number"
_TIME: Final = "a day or a time"
_TABLE: Final = "a table of texts"
_OF_EVENTS: Final = {
    "producer": _TEXT,
    "sql": _FLAG,
    "base_inputs": _FLAG,
    "start_events": _FLAG,
    "reads": _FLAG,
    "dataset_events": _FLAG,
    "letter_case": _TEXT,
    "namespaces": _TABLE,
    "job_namespace": _TEXT,
    "job_name_from": _TEXTS,
    "unknown_type": _TEXT,
}
"""The settings of the table ``[openlineage]``."""
_FROM_FILE: Final = {
    "account": _TEXT,
    "base": _TEXT,
    "query_history": _TEXT,
    "aggregate": _TEXT,
    "outputs": _TEXTS,
    "graph_format": _TEXTS,
    "reads": _TEXT,
    "compress": _TEXT,
    "query_text": _FLAG,
    "strict": _FLAG,
    "replace": _FLAG,
    "update": _FLAG,
    "changes": _FLAG,
    "allow_empty": _FLAG,
    "min_rows": _NUMBER,
    "mode": _TEXT,
    "engine": _TEXT,
    "shapes": _TEXTS,
    "pseudonyms": _TEXT,
    "since": _TIME,
    "until": _TIME,
}
SERVE: Final = ("sensitive_tags",)
"""The settings of the table ``[serve]``."""
_TABLES: Final = ("openlineage", "push", "serve", "lineage", "filter", "privacy")


def load(options: Mapping[str, Any], config: Path | None, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings from the command line (``options``; None: not given), the environment and the file. Raises
    UsageError.
    """
    _refuse_empty(options)
    file = _file(config, environ) if config else {}
    table = file.pop("openlineage", {})
    for other in ("push", "serve"):
        file.pop(other, None)
    lineage = _lists(file.pop("lineage", {}), "lineage", LINEAGE, config)
    filters = _lists(file.pop("filter", {}), "filter", FILTER, config)
    privacy_lists = _lists(file.pop("privacy", {}), "privacy", PRIVACY, config)
    from_inputs = formats.settings_of_inputs(options.get("inputs", ()))
    inputs = from_inputs.pop("inputs")
    from_file = _with_checked_types(file, config, _FROM_FILE)
    values = {**from_inputs, **from_file, **_environment(environ)}
    values |= {name: str(values[name]) for name in ("since", "until") if name in values}  # TOML has days and times
    values.update({name: value for name, value in options.items() if value is not None}, inputs=inputs)
    values["outputs"] = _names(values.get("outputs", DEFAULT_OUTPUTS))
    values["graph_format"] = _names(values.get("graph_format", GRAPH_FORMATS[:1]))
    values["shapes"] = _names(values.get("shapes", ()))
    values["forget_user"] = tuple(values.get("forget_user", ()))
    times = values.pop("since", None), values.pop("until", None)
    privacy_settings = privacy_of(values.pop("pseudonyms", None), times, filters, privacy_lists)
    events = _openlineage(table, config, query_text=bool(values.get("query_text")))
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
    table = _file(config, environ).get("serve", {})
    return _lists(table, "serve", SERVE, config).get("sensitive_tags", ())


def load_push(options: Mapping[str, Any], config: Path | None, environ: Mapping[str, str] = os.environ) -> Choices:
    """The settings of a push from the command line (None: not given) and the table ``[push]`` of the file."""
    table = _file(config, environ).get("push", {}) if config else {}
    if not isinstance(table, dict):
        raise UsageError(f"{config}: push must be a table of settings, [push]")
    values = _with_known_keys(table, tuple(_PUSH), config, "push.")
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, _PUSH[name]):
            raise UsageError(f"{config}: push.{name} must be {_PUSH_WORDS[_PUSH[name]]}, but is {value!r}")
    return Choices(**{**values, **{name: value for name, value in options.items() if value is not None}})


_PUSH: Final = {
    "runs": str,
    "profile": str,
    "letter_case": str,
    "concurrency": int,
    "rate": int | float,
    "patience": int | float,
}
_PUSH_WORDS: Final = {str: "a text", int: "a whole number", int | float: "a number"}


def _lists(table: Any, name: str, known: tuple[str, ...], config: Path | None) -> dict[str, tuple[str, ...]]:
    """The settings of a table in the file whose values are lists of texts. Raises UsageError."""
    if not isinstance(table, dict):
        raise UsageError(f"{config}: {name} must be a table of settings, [{name}]")
    values = _with_known_keys(table, known, config, f"{name}.")
    for key, value in values.items():
        if not (isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))):
            raise UsageError(f"{config}: {name}.{key} must be {_TEXTS}, but is {value!r}")
    return {key: (value,) if isinstance(value, str) else tuple(value) for key, value in values.items()}


def _openlineage(table: Any, config: Path | None, *, query_text: bool) -> OpenLineageSettings:
    if not isinstance(table, dict):
        raise UsageError(f"{config}: openlineage must be a table of settings, [openlineage]")
    values = _with_known_keys(table, tuple(_OF_EVENTS), config, "openlineage.")
    if values.get("sql") is True and not query_text:
        raise UsageError(
            f"{config}: openlineage.sql puts SQL text into events, which needs query_text; give --query-text too, or "
            "query_text = true"
        )
    values.setdefault("sql", query_text)
    values = _with_checked_types(values, config, _OF_EVENTS, "openlineage.")
    if "job_name_from" in values:
        values["job_name_from"] = _names(values["job_name_from"])
    if values.get("letter_case", "upper") not in ("upper", "lower"):
        raise UsageError(f"{config}: openlineage.letter_case must be upper or lower, but is {values['letter_case']!r}")
    if "namespaces" in values:
        values["namespaces"] = {
            _canonical_namespace(name): namespace for name, namespace in values["namespaces"].items()
        }
    return OpenLineageSettings(**values)


def _canonical_namespace(namespace: str) -> str:
    """A dataset namespace with its account in canonical form; otherwise a mapping would silently match no name."""
    scheme, is_account, account = namespace.partition("snowflake://")
    with suppress(UsageError):
        return f"{is_account}{spelled(account)}" if is_account and not scheme else namespace
    return namespace


def _file(config: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings and tables of the file, whichever command reads it: a misspelt table is never passed over."""
    try:
        content = given_files.read(config, _LONGEST_FILE + 1)
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
    return _with_known_keys(settings, (*_FROM_FILE, *_TABLES), config, "")


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


def _with_known_keys(
    values: dict[str, Any], known: tuple[str, ...], config: Path | None, prefix: str
) -> dict[str, Any]:
    """The values. Raises UsageError for an unknown key; the message names the most similar known one."""
    for key in values:
        if key not in known:
            similar = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {prefix}{similar[0]}?" if similar else f"known settings are {', '.join(known)}"
            raise UsageError(f"{config}: there is no setting {prefix}{key}; {hint}")
    return dict(values)


def _with_checked_types(
    values: dict[str, Any], config: Path | None, known: Mapping[str, str], prefix: str = ""
) -> dict[str, Any]:
    for key, value in values.items():
        is_texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        kinds = {
            _TEXT: isinstance(value, str),
            _FLAG: isinstance(value, bool),
            _NUMBER: isinstance(value, int) and not isinstance(value, bool),
            _TEXTS: isinstance(value, str) or is_texts,
            _TABLE: isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
            _TIME: isinstance(value, str | date),
        }
        if not kinds[known[key]]:
            raise UsageError(f"{config}: {prefix}{key} must be {known[key]}, but is {value!r}")
    return values


def _environment(environ: Mapping[str, str]) -> dict[str, Any]:
    variables = {
        name: environ[f"EXPORTER_{name.upper()}"] for name in _FROM_FILE if f"EXPORTER_{name.upper()}" in environ
    }
    readers = {_FLAG: _flag, _NUMBER: _number}
    return {
        name: readers[kind](name, variables[name]) if kind in readers else variables[name]
        for name, kind in _FROM_FILE.items()
        if name in variables
    }


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("1", "0", "true", "false", "yes", "no"):
        raise UsageError(f"EXPORTER_{name.upper()} must be true or false, but is {text!r}")
    return text.lower() in ("1", "true", "yes")


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,15}", text):
        raise UsageError(f"EXPORTER_{name.upper()} must be a whole number, but is {text!r}")
    return int(text)


def _names(outputs: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    parts = outputs.split(",") if isinstance(outputs, str) else outputs
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
