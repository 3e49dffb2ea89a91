"""Fusion: least data movement of several Einsums that may keep tensors on chip between them."""

from solver_mapper.bounds.fusion.fuse import FusionOptions, fuse, fuse_mappings
from solver_mapper.bounds.fusion.orojenesis_v2.listing import EinsumMapping
from solver_mapper.bounds.fusion.points import FamilyPoint, FusedPoint
from solver_mapper.bounds.fusion.tensor_cores import TensorCore

__all__ = [
    "EinsumMapping",
    "FamilyPoint",
    "FusedPoint",
    "FusionOptions",
    "TensorCore",
    "fuse",
    "fuse_mappings",
]
