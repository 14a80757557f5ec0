"""Things that several queries mention (objects, users, accounts): they receive mentions and answer the queries."""
