"""Facts, answers and histories -> nodes: one function for each kind of thing that has nodes of its own."""
