"""Files, folders and terminals of the machine: what the program needs of the system, and knows nothing of lineage."""
