"""The exporter for ``spark-submit``, which takes a file that ends in .py: ``spark-submit submit.py export …``."""

import sys

from exporter.cli import main

sys.exit(main())
