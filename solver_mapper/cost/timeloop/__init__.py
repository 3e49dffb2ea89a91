"""Timeloop's cost model: exact access counts, energy and cycles of one loop nest."""

from solver_mapper.core.results.statistics import Statistics
from solver_mapper.cost.timeloop.model import Evaluator, evaluate

__all__ = ["Evaluator", "Statistics", "evaluate"]
