"""Searching and proving: what `solve`, `pareto`, `enumerate` and `suggest` have in common."""
