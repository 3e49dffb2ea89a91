"""The legal mapping nearest to one that is not: found by CP-SAT on the model of legality, shown as
a diff.
"""
