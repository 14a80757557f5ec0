"""Read files and lines into rows, each with its place, or into the reason why one cannot be read. No Spark here."""
