"""Proofs by another route: full enumeration, other solver parameters, and bounds that need no
solver. `cpsat` does not know it.
"""
