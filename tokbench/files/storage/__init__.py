"""Where files are: folders of this machine, object stores and file systems of clusters, as one thing."""
