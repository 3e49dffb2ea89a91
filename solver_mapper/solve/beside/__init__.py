"""A walk outwards in a process of its own, beside the rest of a search."""
