"""Parity-aware BPE: each merge is chosen for the language that needs the most tokens for the same text.

Foroutan et al. (2025), "Parity-Aware Byte-Pair Encoding: Improving Cross-lingual Fairness in Tokenization".
"""
