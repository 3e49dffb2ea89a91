"""Mappings of one problem beside each other: what differs, and why one is better."""
