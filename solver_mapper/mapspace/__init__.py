"""What hardware, problem and constraints leave to choose: factors per slot, loop orders, bypass.
Imports no solver.
"""
