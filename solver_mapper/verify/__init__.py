"""Proofs by another route: bounds without a solver, branch and bound, full enumeration, and the
checker of certificates. Imports nothing of `solve/`, which does import bounds from here.
"""
