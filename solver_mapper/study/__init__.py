"""Whole networks and design spaces: many searches, a store of their results, and totals."""
