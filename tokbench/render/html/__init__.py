"""A comparison as one HTML file that works offline, on screen and on paper."""
