"""Results as one self-contained HTML file, and as HTML within notebooks."""
