"""A comparison as one HTML file that works from disk, without the network, on a screen and on paper."""
