"""Charts of results: Vega-Lite specifications, and the SVG and PNG files that are drawn from them without a browser."""
