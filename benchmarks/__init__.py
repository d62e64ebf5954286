"""Benchmarks: `python -m benchmarks [name ...]`; see README.md for how to read the results.

One module or package for each benchmark, listed in catalog.py. Whatever several of them use is
here: cases and their time limit in runner.py, files in results.py, tables in table.py, CPU time in
host_time.py.
"""
