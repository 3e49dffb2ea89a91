"""Charts drawn as SVG, by Plotly and by Matplotlib, and the charts of each result."""
