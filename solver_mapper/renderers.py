"""Imports every module that registers a renderer with `core.rendering`."""

from solver_mapper.io.accelforge import mapping_file
from solver_mapper.io.timeloop import mapping_writer
from solver_mapper.report import (
    front_text,
    fusion_space_text,
    looptree_solution_text,
    looptree_svg,
    looptree_text,
    mapspace_size_text,
    nest_svg,
    network_text,
    solution_text,
    statistics_text,
    sweep_text,
)
from solver_mapper.report.charts import (
    curve_charts,
    looptree_charts,
    matplotlib,
    solution_charts,
    statistics_charts,
    study_charts,
    svg,
    tiling_charts,
)
from solver_mapper.report.html import (
    curve_page,
    front_page,
    looptree_page,
    network_page,
    render,
    solution_page,
    statistics_page,
    sweep_page,
    tiling_page,
)
from solver_mapper.tiling import text as tiling_text
from solver_mapper.tiling import timeloop as tiling_yaml

RENDERERS = (
    curve_charts,
    curve_page,
    front_page,
    front_text,
    fusion_space_text,
    looptree_charts,
    looptree_page,
    looptree_solution_text,
    looptree_svg,
    looptree_text,
    mapping_file,
    mapping_writer,
    mapspace_size_text,
    matplotlib,
    nest_svg,
    network_page,
    network_text,
    render,
    solution_charts,
    solution_page,
    solution_text,
    statistics_charts,
    statistics_page,
    statistics_text,
    study_charts,
    svg,
    sweep_page,
    sweep_text,
    tiling_charts,
    tiling_page,
    tiling_text,
    tiling_yaml,
)
