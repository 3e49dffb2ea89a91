"""Choosing tilings: SMAUG's candidates, and the tiling that moves the fewest words, proven by
CP-SAT.
"""
