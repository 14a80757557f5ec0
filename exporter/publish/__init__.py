"""What is published: the report, the manifest, and DIR as it was before."""
