"""Four cost models that differ by convention, and for that reason share no formulas. Imports no
solver.
"""
