"""``exporter fetch``: the rows of Snowflake's views as files for an export. It decides which days to ask for."""
