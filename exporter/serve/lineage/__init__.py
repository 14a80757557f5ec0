"""Lineage as a picture that the user opens step by step."""
