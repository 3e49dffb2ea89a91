"""Faults: limits, signals, output that cannot be written, hostile input, numbers out of range."""
