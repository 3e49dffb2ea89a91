"""Which mappings are legal, as a CP-SAT model without costs: for explanations, enumeration, and the
nearest legal mapping.
"""
