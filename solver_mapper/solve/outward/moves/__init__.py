"""How inner mappings grow outwards: by a spatial loop, by a temporal loop, by what a level holds.

The counts are the cost model's own. Each kind of move has a file.
"""
