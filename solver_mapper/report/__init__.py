"""Results as text and pictures. Importing this package registers all renderers."""

from solver_mapper.report import (
    bound_curve_svg,
    front_text,
    looptree_text,
    mapspace_size_text,
    solution_text,
    statistics_text,
)

__all__ = [
    "bound_curve_svg",
    "front_text",
    "looptree_text",
    "mapspace_size_text",
    "solution_text",
    "statistics_text",
]
