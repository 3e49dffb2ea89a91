"""How many mappings are legal, counted exactly level by level, and all of them listed. Imports no
solver.

Going inwards, all that levels further in ask of the levels outside is the tile that is left to
them. So mappings are counted by a transfer from each level's tiles to those of the next: as many
numbers as there are tiles, however many mappings there are.
"""
