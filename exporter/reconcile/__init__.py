"""Compares declared lineage with what rows show: what dbt or OpenLineage says that data goes through, and queries."""
