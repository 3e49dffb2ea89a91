"""Orojenesis' cost model: one buffer between a backing store and the compute units."""
