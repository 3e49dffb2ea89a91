"""Jinja2 templates: rendering in a sandbox, included files, and positions that point into the files
people wrote.
"""

from solver_mapper.io.templates.options import TemplateOptions, variable_of
from solver_mapper.io.templates.syntax import LOADED_TAG, is_template

__all__ = ["LOADED_TAG", "TemplateOptions", "is_template", "variable_of"]
