"""A graph for assistants: tools and resources of the Model Context Protocol (https://modelcontextprotocol.io)."""
