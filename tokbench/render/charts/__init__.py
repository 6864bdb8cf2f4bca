"""Results as charts: Vega-Lite specifications, and the SVG and PNG that are drawn from them without a browser."""
