"""Whether a mapping obeys constraint rules. Knows mappings and rules; imports no solver."""
