"""Files and lines -> rows, each with its place; what cannot be read, with its reason. Nothing here knows of Spark."""
