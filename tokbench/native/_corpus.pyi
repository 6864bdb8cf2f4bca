"""What tells a corpus by its lines; `tokbench.corpus.fingerprint` describes the functions."""

from tokbench.corpus.fingerprint import LineDocuments, LineSums

SOURCES: str
line_documents: LineDocuments
line_sums: LineSums
