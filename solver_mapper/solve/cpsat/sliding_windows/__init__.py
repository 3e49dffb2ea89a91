"""Sliding windows in the compiled model: tables of their words, and how they move."""
