"""`tokbench play`: a full-screen session in the terminal, on Textual.

The contents are computed in modules without Textual, such as `buffer`, `text_rows`, `columns`, `token_rows` and
`token_details`; widgets draw only what is on the screen, and slow work runs on a thread (`background`).
"""
