"""What tells a corpus by its lines; `tokbench.corpus.line_kernel` describes the functions."""

from tokbench.corpus.line_kernel import LineDocuments, LineSums

SOURCES: str
line_documents: LineDocuments
line_sums: LineSums
