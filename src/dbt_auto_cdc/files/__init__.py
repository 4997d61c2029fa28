"""`read_files`: files of a folder or pattern, of which each committed run reads only those that no run has read.

`options` is what may be written, `values` how what stands in a file becomes a column of a type, `duckdb` how files are
listed and read there, `reading` what a run makes of it all.
"""
