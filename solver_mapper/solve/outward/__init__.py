"""The least energy, or least product of energy and cycles, level by level outwards."""
