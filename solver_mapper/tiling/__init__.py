"""Tilings of real operators for scratchpad accelerators: SMAUG's choice exactly, and better.

`tile` tiles an operator. `Operator` with `operator`, `Strategy`, and `objective` are how one adds
operators, strategies and whole optimizers of one's own (docs/reference/tiling.md).
"""

from solver_mapper.tiling.api import Options, objective, tile
from solver_mapper.tiling.backend import Backend, Scratchpad, load_backend
from solver_mapper.tiling.cutting import cut, cut_by_loops
from solver_mapper.tiling.dims import tiles_along
from solver_mapper.tiling.nest import NestLoop, TilingNest, nest_of
from solver_mapper.tiling.network import (
    NetworkTiling,
    ObjectiveComparison,
    OperatorNetwork,
    compare,
    read_network,
    tile_network,
)
from solver_mapper.tiling.operator import InvocationWork, Operator, operator
from solver_mapper.tiling.result import Tiling, TilingCertificate, tiling_of
from solver_mapper.tiling.schedule import Invocation
from solver_mapper.tiling.search.candidates import (
    Candidates,
    DoesNotFit,
    Extent,
    ExtentGrid,
    TileForm,
    TileShapes,
    fixed,
)
from solver_mapper.tiling.strategy import Strategy
from solver_mapper.tiling.tensors import Rank, Span, Tensor, TiledTensor, Window

__all__ = [
    "Backend",
    "Candidates",
    "DoesNotFit",
    "Extent",
    "ExtentGrid",
    "Invocation",
    "InvocationWork",
    "NestLoop",
    "NetworkTiling",
    "ObjectiveComparison",
    "Operator",
    "OperatorNetwork",
    "Options",
    "Rank",
    "Scratchpad",
    "Span",
    "Strategy",
    "Tensor",
    "TileForm",
    "TileShapes",
    "TiledTensor",
    "Tiling",
    "TilingCertificate",
    "TilingNest",
    "Window",
    "compare",
    "cut",
    "cut_by_loops",
    "fixed",
    "load_backend",
    "nest_of",
    "objective",
    "operator",
    "read_network",
    "tile",
    "tile_network",
    "tiles_along",
    "tiling_of",
]
