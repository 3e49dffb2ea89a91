"""What all parts speak: specifications, mappings, constraints, objectives, statistics and results.
Imports no other part.
"""
