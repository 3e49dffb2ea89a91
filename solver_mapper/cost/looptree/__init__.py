"""LoopTree: workloads of several Einsums, architectures and mappings that may fork, as AccelForge
writes them.

The nodes of which trees are built stand here; see `mapping_tree.py` for how.
"""

from solver_mapper.cost.looptree.mapping.mapping_tree import (
    Compute,
    Nested,
    Pipeline,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    Toll,
    TreeMapping,
)

__all__ = [
    "Compute",
    "Nested",
    "Pipeline",
    "Sequential",
    "Spatial",
    "Storage",
    "Temporal",
    "Toll",
    "TreeMapping",
]
