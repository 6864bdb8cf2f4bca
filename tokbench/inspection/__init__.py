"""What is inside an opened tokenizer: its tokens, how they are made of one another, how two tokenizers differ."""
