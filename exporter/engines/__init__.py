"""The engines: they group, sort and pass messages between steps, with Spark or without, and do not interpret them."""
