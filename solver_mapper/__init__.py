"""Provably optimal mappings of tensor operations onto accelerators."""
