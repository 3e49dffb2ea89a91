"""Data-movement bounds of single Einsums: with a buffer of S words, the least traffic that any
mapping can have.
"""

from solver_mapper.bounds.bound import Counting, TilePoint, bound, bound_mappings
from solver_mapper.bounds.curve import Curve, Mark

__all__ = ["Counting", "Curve", "Mark", "TilePoint", "bound", "bound_mappings"]
