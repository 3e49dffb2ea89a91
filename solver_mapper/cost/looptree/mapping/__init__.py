"""LoopTree mappings: the tree, each Einsum's way through it, and what makes it sound."""
