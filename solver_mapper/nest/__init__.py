"""The exact nest model. `evaluate` counts every word; `violations` says what makes a mapping illegal; `walk` judges both."""

from solver_mapper.nest.figures import Figures
from solver_mapper.nest.legality import Violation, violations
from solver_mapper.nest.model import Evaluator, evaluate

__all__ = ["Evaluator", "Figures", "Violation", "evaluate", "violations"]
