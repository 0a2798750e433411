"""Read and write values: JSON, results as text, arguments, bounded files.

strict_json     exactly JSON, and values that remember how they were written
lenient_json    JSON and Python as models write them; `literal` reads a whole text
json_tokens     tokens of lenient JSON: strings, numbers, words and keys
json_strings    strings that are quoted or escaped wrongly
results         what a function returned, as text without chat markers
arguments       checks of the arguments of public functions
files           bounded reading of files of unknown origin
"""
