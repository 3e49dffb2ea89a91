"""The public functions: they read what they are given, refuse arguments without a meaning, and call
the part that answers. `tile` stands in `tiling/api.py`.
"""

from solver_mapper.api.data_movement import bound, bound_mappings, fuse, fuse_mappings
from solver_mapper.api.load import load, read_input
from solver_mapper.api.mappings import compare, convert, evaluate, suggest, validate
from solver_mapper.api.mapspace import explain, space
from solver_mapper.api.models import energies, fill_components, import_fused, import_model
from solver_mapper.api.search import check_certificate, enumerate, pareto, solve
from solver_mapper.api.studies import solve_network, sweep

__all__ = [
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
    "read_input",
    "solve",
    "solve_network",
    "space",
    "suggest",
    "sweep",
    "validate",
]
