"""Lineage as a picture that is opened step by step."""
