"""Processes that share the work of one search."""
