"""A lower bound for mappings of imperfect factors that looks at all tensors together."""
