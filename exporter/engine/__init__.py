"""Who meets whom, and in which order: with Spark, or without. No meaning is in here."""
