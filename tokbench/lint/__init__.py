"""Rules that find what is wrong with a tokenizer, one module a topic; nothing here prints or writes."""
