"""Offer functions to models as tools.

tool        Tool, `@tool`, and the schema of a function
files       tools from a file, a module, or one function of either
standard    the tools that `azent ask` offers when none are named
reading     `read_reply` and `ReplyReader`, which take functions where the reader takes schemas
"""
