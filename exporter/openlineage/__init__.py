"""The OpenLineage output: facts -> events (``events``), checked (``check``), and sent to a backend (``push``).

Nothing is imported here: a push needs no Spark.
"""
