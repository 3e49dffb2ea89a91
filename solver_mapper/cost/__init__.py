"""Cost models of three source systems, exact and without a solver. They share no formulas, because
their conventions differ: what counts as one access, when partial sums are read again, who pays for
a multicast. docs/reference/looptree.md compares Timeloop's and LoopTree's on one mapping;
`tiling/nest.py` has SMAUG's.
"""
