"""How fast, and how it was measured: a generator, a baseline, and one command that runs them all."""
