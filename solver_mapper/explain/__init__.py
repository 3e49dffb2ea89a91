"""Why no mapping is legal, and what would have to change."""
