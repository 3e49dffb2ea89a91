"""Timeloop's notations (flat, tree, v0.4): architectures, problems, mappings, constraints."""
