"""The commands of docs/stores/fuseki.md and oxigraph.md run and do what the pages say."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

from exporter.ask.parameters import bind
from exporter.ask.questions import find
from tests.engines.test_updates import triples
from tests.pages import BLOCK, ROOT, sections
from tests.stores.servers import NEEDS_CURL

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.endpoint import Endpoint

pytestmark = NEEDS_CURL
ACCOUNT: Final = "snowflake://MYORG-MYACCOUNT"


def run(commands: str, folder: Path, url: str) -> str:
    """What the commands of a page print, beside the folder ``lineage`` and the project's own."""
    for name in ("deploy", "examples"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    lines = [f"STORE={url}" if line.startswith("STORE=") else line for line in commands.splitlines()]
    script = "\n".join(["set -euo pipefail", *lines])
    environ = {**os.environ, "STORE": url}
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_commands_of_the_page(store: Endpoint, grown: tuple[Path, Path], tmp_path: Path) -> None:
    page = sections((ROOT / "docs" / "stores" / f"{store.name.lower()}.md").read_text("utf-8"))
    blocks = {title: [body for kind, body in BLOCK.findall(text) if kind == "sh"] for title, text in page.items()}
    url, expected = store.query.removesuffix("/query"), triples(grown[1])
    (tmp_path / "lineage").symlink_to(grown[1])

    run("\n".join(blocks["Load"]), tmp_path, url)
    assert store.triples() == expected

    answers = run("\n".join(blocks["Ask"]), tmp_path, url).split()
    assert {"policy_name", "user_name"} <= set(answers)

    store.change("DROP ALL")
    run("\n".join(blocks["Apply updates"]), tmp_path, url)
    assert store.triples() == store.triples(ACCOUNT) == expected


def test_a_store_that_was_loaded_gets_the_next_updates(
    oxigraph: Endpoint, grown: tuple[Path, Path], tmp_path: Path
) -> None:
    """As docs/stores/README.md says it: the changes that the graph has already are not sent."""
    blocks = [body for kind, body in BLOCK.findall((ROOT / "docs" / "stores" / "README.md").read_text("utf-8"))]
    (noted,) = [body for body in blocks if body.startswith("LOADED=1")]
    (sed,) = [body for body in blocks if body.startswith("sed")]
    oxigraph.change("DROP ALL")
    (tmp_path / "lineage").symlink_to(grown[0])
    store = oxigraph.query.removesuffix("/query")
    run(noted.replace("http://localhost:3030/lineage/update", '"$STORE/update"'), tmp_path, store)
    assert not oxigraph.triples(), "nothing is sent"
    (tmp_path / "lineage").unlink()
    (tmp_path / "lineage").symlink_to(grown[1])
    run('deploy/follow lineage "$STORE/update"', tmp_path, store)
    assert triples(grown[1]) - triples(grown[0]) <= oxigraph.triples() < triples(grown[1])
    query = run(sed, tmp_path, "")
    assert query == bind(find("who-accessed").query, find("who-accessed").parameters, {"object_id": "66564"})
