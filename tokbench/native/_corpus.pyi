"""What tells a corpus by its lines (see `tokbench.corpus.fingerprint`), and the shape of a JSON text."""

from tokbench.corpus.fingerprint import LineDocuments, LineSums

SOURCES: str
line_documents: LineDocuments
line_sums: LineSums

def json_shape(text: bytes) -> tuple[int, int, int, bool]: ...
