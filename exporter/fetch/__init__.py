"""Rows of Snowflake's views to files that an export takes: which days to ask for, the SQL, the answers as Parquet."""
