"""``python -m exporter``: the same as the command ``exporter``."""

import sys

from exporter.cli import main

sys.exit(main())
