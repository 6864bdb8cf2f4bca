"""Counted words as files: a folder of Parquet files and what they were counted from; tables of other programs."""
