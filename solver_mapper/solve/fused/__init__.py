"""Finding the best LoopTree mapping: what may vary, what each choice costs, and the proof that none
is better.
"""
