"""Rules that find faults of a tokenizer, one module per topic; nothing in this package prints or writes files."""
