"""Settings: the command line has priority over the environment, and that over the file; messages name the wrong key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exporter.cli.configuration import load, load_push, other_variables
from exporter.errors import UsageError

GIVEN: dict[str, Any] = {"inputs": ("rows.ndjson",), "out": "out"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "exporter.toml"


def test_the_command_line_has_priority_over_the_environment_and_that_over_the_file(config: Path) -> None:
    config.write_text('account = "FILE-A"\nbase = "https://file/"\nstrict = true\n', encoding="utf-8")
    environ = {"EXPORTER_ACCOUNT": "ENV-A", "EXPORTER_BASE": "https://env/"}
    by_file = load(GIVEN, config, {})
    by_environment = load(GIVEN, config, environ)
    by_command_line = load({**GIVEN, "base": "https://line/", "strict": None}, config, environ)
    assert (by_file.account, by_file.base, by_file.strict) == ("FILE-A", "https://file/", True)
    assert (by_environment.account, by_environment.base) == ("ENV-A", "https://env/")
    assert (by_command_line.account, by_command_line.base, by_command_line.strict) == ("ENV-A", "https://line/", True)


def test_without_anything() -> None:
    settings = load(GIVEN, None, {})
    assert settings.base == f"snowflake://{settings.account}/"
    assert settings.outputs == ("events", "graph")
    assert not settings.query_text
    assert not settings.openlineage.sql, "SQL text can hold personal data"


def test_variables(config: Path) -> None:
    config.write_text('account = "${ORG}-${ACCOUNT:-PROD}"\nbase = "${BASE:-}"\n', encoding="utf-8")
    settings = load(GIVEN, config, {"ORG": "ACME"})
    assert (settings.account, settings.base) == ("ACME-PROD", "snowflake://ACME-PROD/")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('account = "${ORG}-A"', ("account", "ORG", "not set")),
        ('[openlineage]\njob_namespace = "${NS}"', ("openlineage", "job_namespace", "NS")),
        ('acount = "A-B"', ("acount", "did you mean account?")),
        ("[openlineage]\njob_namspace = 'x'", ("openlineage.job_namspace", "did you mean openlineage.job_namespace?")),
        ("unlike_any = 1", ("unlike_any", "known settings are")),
        ("account = ", ("not TOML",)),
        ('account = "not an account"', ("account", "MYORG-MYACCOUNT")),
        ("account = 7", ("account",)),
        ("[openlineage]\nsql = true", ("openlineage.sql", "--query-text")),
        ("[openlineage]\nsql = 1", ("openlineage.sql must be true or false, but is 1",)),
        ("[openlineage]\njob_namespace = 7", ("openlineage.job_namespace must be a text",)),
        ("[openlineage]\njob_name_from = [7]", ("openlineage.job_name_from must be a text or a list of texts",)),
        ("[openlineage]\nnamespaces = { a = 7 }", ("openlineage.namespaces must be a table of texts",)),
        ('strict = "perhaps"', ("strict",)),
        ("outputs = 7", ("outputs",)),
        ('outputs = ["events", "grpah"]', ("outputs", "grpah")),
        ("outputs = []", ("outputs",)),
        ('engine = "sparc"', ("engine", "sparc", "spark, local")),
        ("shapes = 7", ("shapes",)),
        ('base = "https://example.org"', ("base", "ends in /")),
        ('base = "s3://bucket/"', ("base",)),
        ("openlineage = 3", ("openlineage", "table")),
        ("[openlineage]\nsql = 'yes'", ("openlineage.sql", "true or false")),
        ("[openlineage]\nletter_case = 'title'", ("openlineage.letter_case", "upper or lower")),
    ],
)
def test_a_message_names_the_file_and_the_key(config: Path, text: str, words: tuple[str, ...]) -> None:
    config.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load(GIVEN, config, {})
    for word in words:
        assert word in str(caught.value)


def test_a_file_that_is_not_there(config: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load(GIVEN, config, {})


@pytest.mark.parametrize(("text", "flag"), [("true", True), ("TRUE", True), ("false", False)])
def test_flags_in_the_environment(text: str, flag: bool) -> None:  # noqa: FBT001 - a parametrised case
    assert load(GIVEN, None, {"EXPORTER_STRICT": text}).strict is flag


def test_engine_and_shapes_in_the_environment() -> None:
    settings = load(GIVEN, None, {"EXPORTER_ENGINE": "local", "EXPORTER_SHAPES": "one, other"})
    assert (settings.engine, settings.shapes) == ("local", ("one", "other"))
    assert (load(GIVEN, None, {}).engine, load(GIVEN, None, {}).shapes) == ("spark", ())


@pytest.mark.parametrize("text", ["perhaps", "yes", "no", "1", "0", ""])
def test_a_flag_that_is_none(text: str) -> None:
    """docs/interface.md: true or false."""
    with pytest.raises(UsageError, match="EXPORTER_REPLACE must be true or false"):
        load(GIVEN, None, {"EXPORTER_REPLACE": text})


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("EXPORTER_PSEUDONYM", "did you mean EXPORTER_PSEUDONYMS?"),
        ("EXPORTER_acount", "did you mean EXPORTER_ACCOUNT?"),
        ("EXPORTER_DEBG", "did you mean EXPORTER_DEBUG?"),
        ("EXPORTER_DRY_RUN", "give --dry-run on the command line"),
        ("EXPORTER_CONFIG", "give --config on the command line"),
        ("EXPORTER_FORGET_USERS", "give --forget-user on the command line"),
        ("EXPORTER_DENY_USERS", "give filter.deny_users in the file of settings"),
        ("EXPORTER_FILTER_DENY_USERS", "give filter.deny_users in the file of settings"),
        ("EXPORTER_PATIENCE", "give push.patience in the file of settings"),
    ],
)
def test_a_variable_that_looks_like_a_setting_is_refused(variable: str, words: str) -> None:
    """Ignored, a misspelt one would export names in clear, and a dry run would publish."""
    for loaded in (lambda environ: load(GIVEN, None, environ), lambda environ: load_push({}, None, environ)):
        with pytest.raises(UsageError) as caught:
            loaded({variable: "true"})
        assert str(caught.value).startswith(f"{variable}: ")
        assert words in str(caught.value)


def test_variables_of_others_are_told_and_those_of_kubernetes_are_not() -> None:
    """https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables"""
    service = {"SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT", "PORT_80_TCP", "PORT_80_TCP_PROTO"}
    service |= {"PORT_80_TCP_PORT", "PORT_80_TCP_ADDR", "PAGES_SERVICE_HOST", "PAGES_PORT_80_TCP_ADDR"}
    environ = {f"EXPORTER_{name}": "10.0.0.11" for name in service}
    load(GIVEN, None, environ)
    assert other_variables(environ) == []
    environ["EXPORTER_IMAGE"] = "any"
    load(GIVEN, None, environ)
    assert other_variables(environ) == ["EXPORTER_IMAGE: is no variable of this program, and ignored"]


@pytest.mark.parametrize(
    ("given", "outputs"),
    [("graph", ("graph",)), ("graph, events,", ("graph", "events")), ("events,events", ("events",))],
)
def test_outputs_as_people_write_them(given: str, outputs: tuple[str, ...]) -> None:
    assert load({**GIVEN, "outputs": given}, None, {}).outputs == outputs


def test_one_user_to_be_forgotten_is_one_name() -> None:
    for users in ("JSMITH", ["JSMITH"]):
        assert load({**GIVEN, "update": True, "forget_user": users}, None, {}).forget_user == ("JSMITH",)


def test_the_manifest_shows_no_secret(config: Path) -> None:
    config.write_text('account = "${SECRET_ACCOUNT}"\n', encoding="utf-8")
    shown = load(GIVEN, config, {"SECRET_ACCOUNT": "A-B", "OPENLINEAGE_API_KEY": "hunter2"}).for_manifest()
    assert "hunter2" not in str(shown)


@pytest.mark.parametrize(
    "line",
    [
        'producer = "https://u:${PW}@h/"',
        'producer = "https://h/?token=${PW}"',
        'job_namespace = "x?token=${PW}"',
        'namespaces = { "s3://raw" = "s3://a:${PW}@raw" }',
        'namespaces = { "s3://a:${PW}@raw" = "s3://raw" }',
        'unknown_type = "https://h/#access_token=${PW}"',
    ],
)
def test_a_secret_in_the_settings_of_events_is_refused(config: Path, line: str) -> None:
    """docs/interface.md: the settings in the manifest are without secrets; events would have them, too."""
    config.write_text(f"[openlineage]\n{line}\n", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        load(GIVEN, config, {"PW": "S3CRET"})
    assert f"openlineage.{line.split(maxsplit=1)[0]}" in str(raised.value)
    assert "would be written down" in str(raised.value)
    assert "S3CRET" not in str(raised.value)


@pytest.mark.parametrize(
    "given",
    [
        "https://h/x.csv#access_token=S3CRET",
        "s3a://S3CRET@bucket/x",
        "gs://S3CRET@bucket/x",
        "s3a://a%3AS3CRET%40bucket/x",
        "s3a://a%3AS3CRET@bucket/x",
        "wasbs://box@account/x?S3CRETcanary9Xq",
        "https://h/x?refresh_token=S3CRET",
        "https://h/x?client_secret=S3CRET",
    ],
)
def test_a_secret_in_an_input_is_refused_and_not_shown(given: str) -> None:
    with pytest.raises(UsageError) as raised:
        load({**GIVEN, "inputs": (given,)}, None, {})
    assert "would be written down" in str(raised.value)
    assert "S3CRET" not in str(raised.value)


@pytest.mark.parametrize(
    "given",
    [
        "abfss://box@account.dfs.core.windows.net/rows/2026-0?-01",
        "wasbs://box@account/rows?/part-?0000.json.gz",
        "hdfs://host:8020/a@b/x",
        "s3a://bucket/day=2026-01-01T00%3A00/x@y",
        "file:///rows/#1/x",
    ],
)
def test_what_is_no_secret_in_an_input_is_not_refused(given: str) -> None:
    assert load({**GIVEN, "inputs": (given,)}, None, {}).inputs == (given,)


def test_shapes_are_not_left_out_because_a_variable_is_empty(config: Path) -> None:
    for text in ('shapes = ""', 'shapes = ["own", ""]'):
        config.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match="shapes: is empty"):
            load(GIVEN, config, {})
    with pytest.raises(UsageError, match="shapes: is empty"):
        load(GIVEN, None, {"EXPORTER_SHAPES": ""})


@pytest.mark.parametrize("name", ["query_history", "aggregate"])
def test_files_of_a_view_are_a_text_or_a_list(name: str, config: Path) -> None:
    """A text is one name, as it is: a name can have commas in it."""
    for value, given in (('"a,b.csv"', ("a,b.csv",)), ('["a.csv", "b,c.csv"]', ("a.csv", "b,c.csv")), ('""', ())):
        config.write_text(f"{name} = {value}\n", encoding="utf-8")
        assert getattr(load(GIVEN, config, {}), name) == given
    variable = f"EXPORTER_{name.upper()}"
    assert getattr(load(GIVEN, config, {variable: "a,b.csv"}), name) == ("a,b.csv",)
    assert getattr(load(GIVEN, config, {variable: ""}), name) == ()
    assert getattr(load({**GIVEN, name: (Path("a"), "b")}, config, {variable: "c"}), name) == ("a", "b")
