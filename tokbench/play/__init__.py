"""`tokbench play`: a full-screen session in the terminal, by Textual.

What is shown is worked out in modules without Textual, as `buffer`, `text_rows`, `columns`, `token_rows` and
`token_details`; widgets draw of it what is on the screen, and everything slow runs on a thread (`background`).
"""
