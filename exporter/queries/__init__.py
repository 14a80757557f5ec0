"""Rows of a query -> its facts, as plain values, and the objects that they mention."""
