"""Spark's daemon of Python workers, started with what the shapes need: each worker that it forks has it already."""

import gc

from pyspark import daemon

from exporter.rdf import worker

if __name__ == "__main__":
    worker.prepare()
    gc.freeze()  # shared by all workers, so nothing to look for garbage in
    daemon.manager()
