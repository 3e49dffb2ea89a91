"""Imports every module that registers a renderer with `core.rendering`."""

from solver_mapper.io.accelforge import mapping_file
from solver_mapper.io.timeloop import mapping_writer
from solver_mapper.report import (
    bound_curve_svg,
    front_text,
    fusion_space_text,
    looptree_solution_text,
    looptree_svg,
    looptree_text,
    mapspace_size_text,
    network_text,
    solution_text,
    statistics_text,
    sweep_text,
)
from solver_mapper.tiling import text as tiling_text
from solver_mapper.tiling import timeloop as tiling_yaml

RENDERERS = (
    bound_curve_svg,
    front_text,
    fusion_space_text,
    looptree_solution_text,
    looptree_svg,
    looptree_text,
    mapping_file,
    mapping_writer,
    mapspace_size_text,
    network_text,
    solution_text,
    statistics_text,
    sweep_text,
    tiling_text,
    tiling_yaml,
)
