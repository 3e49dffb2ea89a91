"""Whether a mapping obeys constraint constraints. Knows mappings and constraints; imports no
solver.
"""
