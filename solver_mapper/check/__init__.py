"""Whether a mapping in levels fits its hardware and problem and obeys constraints. Imports no
solver. LoopTrees have rules of their own (`cost/looptree/validate.py`), and `verify/` reads
constraints once more, so that an error here does not deceive it.
"""
