"""Derive the facts of a query from its rows, as plain values, and the histories of the objects that they use."""
