"""Read and check the settings. The command line has priority over the environment, and the environment over the file.

The file is TOML, in which ``${VAR}`` and ``${VAR:-default}`` are replaced by environment variables. In the environment
a setting is named ``EXPORTER_`` and its name in upper case: ``EXPORTER_ACCOUNT``.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.backends.profiles import PushOptions
from exporter.errors import UsageError, described, without_passwords
from exporter.input import formats
from exporter.model.account_identifier import normalized_if_account
from exporter.openlineage.settings import LINEAGE, OFF, OpenLineageSettings
from exporter.privacy.filters import FILTER, PRIVACY, privacy_of
from exporter.settings import Settings
from exporter.system import files

if TYPE_CHECKING:
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
_FLAGS: Final = {"true": True, "false": False}


def _kinds(settings: type[DataclassInstance], apart: Iterable[str] = ()) -> dict[str, str]:
    """The fields of a class of settings, each with the kind of its values."""
    types = {field.name: re.split(r"\W", str(field.type))[0] for field in fields(settings) if field.name not in apart}
    return {name: _OF_TYPE[kind] for name, kind in types.items()}


_OPTIONS: Final = {
    **_kinds(Settings, ("openlineage", "privacy")),
    "pseudonyms": _TEXT,
    **dict.fromkeys(("since", "until", "forget_before"), _TIME),
}
"""The settings of the command line and of a script, with the kinds of their values."""
_NEEDED: Final = ("inputs", "out")
_ONLY_OPTIONS: Final = (*_NEEDED, "dry_run", "forget_user", "forget_before", "force", "validate")
SETTINGS: Final = {name: kind for name, kind in _OPTIONS.items() if name not in _ONLY_OPTIONS}
"""The settings of the file and of the environment, with the kinds of their values."""
_VIEWS: Final = ("query_history", "aggregate")
_PATHS: Final = ("inputs", "out", *_VIEWS, "shapes")
"""Those that messages can show: instead of the path of a key the key itself may be given."""
TABLES: Final = {
    "openlineage": _kinds(OpenLineageSettings, LINEAGE),
    "push": _kinds(PushOptions),
    "serve": {"sensitive_tags": _TEXTS},
    "lineage": dict.fromkeys(LINEAGE, _TEXTS),
    "filter": dict.fromkeys(FILTER, _TEXTS),
    "privacy": dict.fromkeys(PRIVACY, _TEXTS),
}
"""The tables of the file, with their settings."""
_PREFIX: Final = "EXPORTER_"
_OF_VARIABLES: Final = (*(name.upper() for name in SETTINGS), "DEBUG")
_OTHERS: Final = re.compile(r"SHARED|TEST_\w+|(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_[A-Z]+(_[A-Z]+)?)?)")
"""The rest of names of other variables: those of the program's tests, and those that Kubernetes sets in every container
for a service that is named ``exporter`` or ``exporter-…``.
"""
_SIMILAR: Final = 0.7
"""How similar a name is to that of a setting which is taken for a misspelling of it."""


def load(options: Mapping[str, Any], config: Path | None, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings from the command line or a script (``options``; None: not given), the environment and the file.
    Raises UsageError.
    """
    options = _given(options, _OPTIONS)
    _refuse_empty(options)
    file = _file(config, environ)
    lineage, filters, privacy_lists = (_lists(file, name, config) for name in ("lineage", "filter", "privacy"))
    of_file = {name: value for name, value in file.items() if name not in TABLES}
    values = {**_checked(of_file, SETTINGS, config), **_environment(environ), **options}
    _refuse_empty({"shapes": values.get("shapes")})
    _refuse_passwords(values)
    _refuse_other_bytes(values)
    for name in _PATHS:
        for path in _texts(values.get(name, ())):
            files.check_path(_shown(name), path)
    from_inputs = formats.settings_of_inputs(_texts(values.pop("inputs", ())))
    values = {**from_inputs, **values}
    values |= {name: str(values[name]) for name, kind in _OPTIONS.items() if kind == _TIME and name in values}
    lists = [name for name, kind in SETTINGS.items() if kind == _TEXTS and name in values]
    values |= {name: _files(values[name]) if name in _VIEWS else _names(values[name]) for name in lists}
    values["forget_user"] = _texts(values.get("forget_user", ()))
    times = values.pop("since", None), values.pop("until", None)
    privacy_settings = privacy_of(values.pop("pseudonyms", None), times, filters, privacy_lists)
    events = _openlineage(file, config, query_text=bool(values.get("query_text")))
    if "helpers" in lineage:
        events = replace(events, helpers=() if lineage["helpers"] == (OFF,) else lineage["helpers"])
    return Settings(**values, openlineage=events, privacy=privacy_settings)


def _given(options: Mapping[str, Any], kinds: Mapping[str, str], prefix: str = "") -> dict[str, Any]:
    """The options that were given, paths as texts. Raises UsageError for a value of another kind: of a script, since a
    command line has no others.
    """
    given = {name: _plain(kinds[name], value) for name, value in options.items() if value is not None}
    for name in (*(name for name in _NEEDED if name in options), *given):
        value = given.get(name)
        if not _is(kinds[name], value):
            items = value if kinds[name] == _TEXTS and isinstance(value, list) else []
            wrong = [f"has {described(item)}" for item in items if not isinstance(item, str)]
            raise UsageError(f"{prefix}{name} must be {kinds[name]}, but {(*wrong, f'is {described(value)}')[0]}")
    return given


def _plain(kind: str, value: Any) -> Any:
    """The value as a file has it: a path as text, several in a list."""
    if isinstance(value, os.PathLike):
        return [os.fspath(value)] if kind == _TEXTS else os.fspath(value)
    if kind == _TEXTS and isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return [os.fspath(item) if isinstance(item, os.PathLike) else item for item in value]
    return value


def _refuse_passwords(values: Mapping[str, Any], prefix: str = "") -> None:
    """Raise UsageError for a password in a URI: the output, its manifest and messages name inputs and places, and
    events the producer and namespaces.
    """
    advice = (
        "write it without them"
        if prefix
        else "give them in the settings of the file system (of Hadoop or the cloud), and the URI without them"
    )
    for name, value in values.items():
        texts = [*value, *value.values()] if isinstance(value, dict) else value
        for text in _texts(texts) if isinstance(texts, str | list) else ():
            if isinstance(text, str) and without_passwords(text) != text:
                raise UsageError(
                    f"{prefix}{_shown(name)}: {text} has a user or password or another secret in it, which would be "
                    f"written down; {advice}"
                )


def _refuse_other_bytes(values: Mapping[str, Any]) -> None:
    """Raise UsageError for a text that is not UTF-8, which no output can have. Only files of rows may be called so."""
    for name, value in values.items():
        for text in _texts(value) if isinstance(value, str | list) and name not in ("inputs", *_VIEWS) else ():
            if isinstance(text, str) and text != text.encode("utf-8", "replace").decode("utf-8"):
                raise UsageError(f"{_shown(name)}: has bytes that are not UTF-8; give it without them")


def _shown(name: str) -> str:
    """The name of a setting in messages."""
    return "INPUT" if name == "inputs" else name


def _refuse_empty(options: Mapping[str, Any]) -> None:
    """Raise UsageError for an empty option: usually a shell variable is not set, and ignoring the option would export
    names in clear, other rows, or what own shapes refuse.
    """
    for name, value in options.items():
        if value == "" or (isinstance(value, list | tuple) and "" in value):
            raise UsageError(
                f"{_shown(name)}: is empty; perhaps a shell variable is not set. Give it a value, or leave it out"
            )


def load_serve(config: Path | None, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """``sensitive_tags`` of the table ``[serve]`` of the file; empty where it is not given."""
    return _lists(_file(config, environ), "serve", config).get("sensitive_tags", ())


def load_push(options: Mapping[str, Any], config: Path | None, environ: Mapping[str, str] = os.environ) -> PushOptions:
    """The settings of a push from the command line (None: not given) and the table ``[push]`` of the file."""
    values = _table(_file(config, environ), "push", config)
    return PushOptions(**{**values, **_given(options, TABLES["push"], "push.")})


def _table(file: Mapping[str, Any], name: str, config: Path | None) -> dict[str, Any]:
    """The settings of a table in the file. Raises UsageError."""
    table = file.get(name, {})
    if not isinstance(table, dict):
        raise UsageError(f"{config}: {name} must be a table of settings, [{name}]")
    values = _checked(table, TABLES[name], config, f"{name}.")
    _refuse_passwords(values, f"{name}.")
    return values


def _lists(file: Mapping[str, Any], name: str, config: Path | None) -> dict[str, tuple[str, ...]]:
    """The settings of a table whose values are lists of texts. An empty list of what is allowed would allow all."""
    values = _table(file, name, config)
    empty = next((key for key, value in values.items() if key.startswith("allow_") and not value), None)
    if empty is not None:
        raise UsageError(f"{config}: {name}.{empty} is empty, so nothing says what is allowed; name it, or remove it")
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
        values["namespaces"] = {_canonical_namespace(name): mapped for name, mapped in values["namespaces"].items()}
    return OpenLineageSettings(**values)


def _canonical_namespace(namespace: str) -> str:
    """A dataset namespace with its account in canonical form; otherwise a mapping would silently match no name."""
    scheme, is_account, account = namespace.partition("snowflake://")
    return f"{is_account}{normalized_if_account(account)}" if is_account and not scheme else namespace


def _file(config: Path | None, environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings and tables of the file, whichever command reads it: a misspelt table is never passed over, nor is a
    misspelt variable.
    """
    _refuse_variables(environ)
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


def _refuse_variables(environ: Mapping[str, str]) -> None:
    """Raise UsageError for a variable that is none of a setting, and looks like one: ignored, it would export names in
    clear, or publish what was to be tried. Others that begin so may be those of other programs.
    """
    elsewhere = {name.upper(): _only_option(name) for name in (*_ONLY_OPTIONS, "config")}
    for table, settings in TABLES.items():
        for name in settings:
            advice = f"give {table}.{name} in the file of settings"
            elsewhere |= {key.upper(): advice for key in (name, f"{table}_{name}") if key not in SETTINGS}
    known = {name: f"did you mean {_PREFIX}{name}?" for name in _OF_VARIABLES}
    for variable, name in _unknown_variables(environ):
        if name in elsewhere:
            raise UsageError(f"{variable}: no variable of the environment has this setting; {elsewhere[name]}")
        similar = difflib.get_close_matches(name.upper(), {**elsewhere, **known}, n=1, cutoff=_SIMILAR)
        if similar:
            advice = {**elsewhere, **known}[similar[0]]
            raise UsageError(f"{variable}: there is no such variable; {advice}")


def other_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """What to say of variables that begin as those of the settings and are none."""
    return [f"{variable}: is no variable of this program, and ignored" for variable, _ in _unknown_variables(environ)]


def _unknown_variables(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Those that are not known, each with the rest of its name."""
    names = [(variable, variable.removeprefix(_PREFIX)) for variable in environ if variable.startswith(_PREFIX)]
    return [(variable, rest) for variable, rest in names if rest not in _OF_VARIABLES and not _OTHERS.fullmatch(rest)]


def _only_option(name: str) -> str:
    return "give it as an argument" if name == "inputs" else f"give --{name.replace('_', '-')} on the command line"


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
            given = f"but is {value!r}" if key != "pseudonyms" else "the path of a key"  # the value may be the key
            raise UsageError(f"{config}: {prefix}{key} must be {known[key]}, {given}")
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
    variables = {name: f"{_PREFIX}{name.upper()}" for name in SETTINGS}
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


def _files(given: str | Iterable[str]) -> tuple[str, ...]:
    """The names of files in a list, or one in a text: a name can have commas in it. An empty one means none."""
    return tuple(name for name in _texts(given) if name)


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    """The names in a list, or in a text with commas."""
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
