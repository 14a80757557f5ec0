"""Benchmarks: a generator of rows, a baseline, and one command that measures and writes the page."""
