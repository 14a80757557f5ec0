"""Notes on answers: why one is empty, or smaller than a person may think. The list of them: ``index.py``."""
