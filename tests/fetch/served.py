"""A fake Snowflake with the example's month, to try ``exporter fetch`` by hand.

``python -m tests.fetch.served FOLDER``: FOLDER is made and gets a connections.toml with the connection ``lineage``, and
``SNOWFLAKE_HOME=FOLDER`` lets the connector find it. It runs until it is interrupted.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from threading import Event

from exporter.fetch.snowflake import ACCESS_HISTORY, QUERY_HISTORY
from tests.fetch import snow


def main(folder: Path, until: Event) -> None:
    warnings.simplefilter("ignore")  # of fakesnow's own libraries
    with snow.started() as server:
        snow.remade(server)
        server.put(ACCESS_HISTORY, snow.month())
        server.put(QUERY_HISTORY, snow.history())
        told = {**server.address, "account": "ACME-RETAIL"}
        lines = [f"{name} = {json.dumps(value)}" for name, value in told.items() if not isinstance(value, dict)]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "connections.toml").touch(mode=0o600)
        (folder / "connections.toml").write_text("\n".join(["[lineage]", *lines, ""]), encoding="utf-8")
        until.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Event())
