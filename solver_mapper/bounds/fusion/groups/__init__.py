"""Groups of Einsums fused tile by tile, and the bound curve of one group."""
