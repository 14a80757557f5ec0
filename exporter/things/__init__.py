"""What stays while queries come and go: things hear what mentions them, and answer."""
