"""tokbench: a workbench for tokenizers."""
