"""Searching and proving, for `solve`, `pareto` and `enumerate`; `cpsat/` has the compiled model,
`legality/` the model of what is legal, `imperfect/` and `fused/` the searches of other mapspaces.
"""
