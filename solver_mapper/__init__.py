"""Provably optimal mappings of tensor operations onto accelerators, with an exact account of every word moved."""

from solver_mapper.api import bound, convert, enumerate, evaluate, explain, fuse, load, pareto, solve, space, suggest, validate
from solver_mapper.bounds import Curve, Mark, TilePoint
from solver_mapper.census.census import Census, Choices, Count, Cut, LevelCount
from solver_mapper.cpsat.handle import Model
from solver_mapper.errors import (
    ExactnessError,
    InfeasibleError,
    InputError,
    LimitReached,
    Place,
    SolverMapperError,
)
from solver_mapper.explain.reason import Entry, Reason, Repair
from solver_mapper.front import Front, FrontPoint
from solver_mapper.fusion import FusedPoint, FusionOptions, TensorCore
from solver_mapper.looptree.convert import Conversion
from solver_mapper.looptree.figures import TreeFigures
from solver_mapper.looptree.solution import TreeSolution
from solver_mapper.looptree.spec import TreeSpec
from solver_mapper.looptree.tree import TreeMapping
from solver_mapper.mapping import LevelMapping, Loop, Mapping
from solver_mapper.nest.figures import Figures
from solver_mapper.nest.legality import Violation
from solver_mapper.rules import Rules
from solver_mapper.solution import Certificate, Solution
from solver_mapper.spec.spec import Spec
from solver_mapper.suggest.suggestion import Difference, Suggestion
from solver_mapper.tiling import Tiling, tile
from solver_mapper.verdict import Verdict

__all__ = [
    "Census",
    "Certificate",
    "Choices",
    "Conversion",
    "Count",
    "Curve",
    "Cut",
    "Difference",
    "Entry",
    "ExactnessError",
    "Figures",
    "Front",
    "FrontPoint",
    "FusedPoint",
    "FusionOptions",
    "InfeasibleError",
    "InputError",
    "LevelCount",
    "LevelMapping",
    "LimitReached",
    "Loop",
    "Mapping",
    "Mark",
    "Model",
    "Place",
    "Reason",
    "Repair",
    "Rules",
    "Solution",
    "SolverMapperError",
    "Spec",
    "Suggestion",
    "TensorCore",
    "TilePoint",
    "Tiling",
    "TreeFigures",
    "TreeMapping",
    "TreeSolution",
    "TreeSpec",
    "Verdict",
    "Violation",
    "bound",
    "convert",
    "enumerate",
    "evaluate",
    "explain",
    "fuse",
    "load",
    "pareto",
    "solve",
    "space",
    "suggest",
    "tile",
    "validate",
]
