"""Between Timeloop's level-by-level notation and LoopTrees."""

from solver_mapper.io.convert.conversion import Conversion
from solver_mapper.io.convert.to_looptree import to_looptree
from solver_mapper.io.convert.to_timeloop import to_timeloop

__all__ = ["Conversion", "to_looptree", "to_timeloop"]
