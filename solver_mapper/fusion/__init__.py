"""Fusion: least data movement of several Einsums that may keep tensors on chip between them."""

from solver_mapper.fusion.cores import TensorCore
from solver_mapper.fusion.fuse import FusionOptions, fuse
from solver_mapper.fusion.points import FamilyPoint, FusedPoint

__all__ = ["FamilyPoint", "FusedPoint", "FusionOptions", "TensorCore", "fuse"]
