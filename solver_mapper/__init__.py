"""Provably optimal mappings of tensor operations onto accelerators, with exact access counts,
energy and cycles.
"""

# ruff: noqa: E402 (signals first)
from solver_mapper.startup import end_on_signals, end_without_memory, is_command

if is_command():
    end_on_signals()
    end_without_memory()
del end_on_signals, end_without_memory, is_command

from solver_mapper import renderers  # noqa: F401  (registers how results are printed)
from solver_mapper.api import (
    bound,
    bound_mappings,
    check_certificate,
    compare,
    convert,
    energies,
    enumerate,
    evaluate,
    explain,
    fill_components,
    fuse,
    fuse_mappings,
    import_fused,
    import_model,
    load,
    pareto,
    solve,
    solve_network,
    space,
    suggest,
    sweep,
    validate,
)
from solver_mapper.bounds import Curve, Mark, TilePoint
from solver_mapper.bounds.fusion import EinsumMapping, FusedPoint, FusionOptions, TensorCore
from solver_mapper.compare.comparison import ComparedMapping, Comparison
from solver_mapper.constraints import ConstraintSet
from solver_mapper.core.mapping import LevelMapping, Loop, Mapping
from solver_mapper.core.results.fusion_space import EinsumChoices, FusionSpaceSize
from solver_mapper.core.results.mapspace_size import (
    Choices,
    Count,
    Cut,
    LevelCount,
    MapspaceSize,
)
from solver_mapper.core.results.pareto_front import Front, FrontPoint
from solver_mapper.core.results.solution import Certificate, Solution
from solver_mapper.core.results.statistics import Statistics
from solver_mapper.core.results.verdict import Verdict, Violation
from solver_mapper.core.spec import Spec
from solver_mapper.cost.looptree.front import TreeFront
from solver_mapper.cost.looptree.mapping.mapping_tree import TreeMapping
from solver_mapper.cost.looptree.solution import TreeSolution
from solver_mapper.cost.looptree.specification import TreeSpec
from solver_mapper.cost.looptree.statistics import TreeStatistics
from solver_mapper.errors import (
    ExactnessError,
    InfeasibleError,
    InputError,
    LimitReached,
    SolverMapperError,
    SourceLocation,
)
from solver_mapper.explain.looptree import TreeReason
from solver_mapper.explain.nearest.suggestion import Difference, Suggestion
from solver_mapper.explain.reason import Entry, Reason, Repair
from solver_mapper.io.accelforge.component_models import FilledInput
from solver_mapper.io.convert import Conversion
from solver_mapper.io.estimators import EstimatedTable
from solver_mapper.io.onnx.fused import FusedModel
from solver_mapper.io.onnx.model import ImportedModel
from solver_mapper.solve.cpsat.model_hook import Model
from solver_mapper.study.design import Reading
from solver_mapper.study.execution.progress import StudyProgress
from solver_mapper.study.network_result import LayerResult, NetworkResult, Totals
from solver_mapper.study.sweep_result import SweepPoint, SweepResult
from solver_mapper.tiling import Tiling, tile
from solver_mapper.verify.certificate_format import Check
from solver_mapper.version import __version__ as __version__

__all__ = [
    "Certificate",
    "Check",
    "Choices",
    "ComparedMapping",
    "Comparison",
    "ConstraintSet",
    "Conversion",
    "Count",
    "Curve",
    "Cut",
    "Difference",
    "EinsumChoices",
    "EinsumMapping",
    "Entry",
    "EstimatedTable",
    "ExactnessError",
    "FilledInput",
    "Front",
    "FrontPoint",
    "FusedModel",
    "FusedPoint",
    "FusionOptions",
    "FusionSpaceSize",
    "ImportedModel",
    "InfeasibleError",
    "InputError",
    "LayerResult",
    "LevelCount",
    "LevelMapping",
    "LimitReached",
    "Loop",
    "Mapping",
    "MapspaceSize",
    "Mark",
    "Model",
    "NetworkResult",
    "Reading",
    "Reason",
    "Repair",
    "Solution",
    "SolverMapperError",
    "SourceLocation",
    "Spec",
    "Statistics",
    "StudyProgress",
    "Suggestion",
    "SweepPoint",
    "SweepResult",
    "TensorCore",
    "TilePoint",
    "Tiling",
    "Totals",
    "TreeFront",
    "TreeMapping",
    "TreeReason",
    "TreeSolution",
    "TreeSpec",
    "TreeStatistics",
    "Verdict",
    "Violation",
    "bound",
    "bound_mappings",
    "check_certificate",
    "compare",
    "convert",
    "energies",
    "enumerate",
    "evaluate",
    "explain",
    "fill_components",
    "fuse",
    "fuse_mappings",
    "import_fused",
    "import_model",
    "load",
    "pareto",
    "solve",
    "solve_network",
    "space",
    "suggest",
    "sweep",
    "tile",
    "validate",
]
