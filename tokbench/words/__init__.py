"""Files of counted words: a folder of Parquet files with an index; tables of other programs."""
