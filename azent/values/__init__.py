"""Values on their way in and out, below everything that knows of schemas or models.

strict_json     exactly JSON, and values that remember how they were written
lenient_json    JSON and Python as models write them; `literal` reads a whole text
json_tokens     the tokens of both: strings, numbers, words and keys
json_strings    strings that were quoted or escaped wrongly
results         what a function returned, as text without chat markers
arguments       checks of what callers pass
files           bounded reading of files that someone else put in place
"""
