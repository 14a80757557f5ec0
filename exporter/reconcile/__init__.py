"""Declared lineage against seen lineage: what dbt or OpenLineage says that data goes through, and what rows show."""
