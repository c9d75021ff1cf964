"""The bench, ``python -m sssp.bench``: methods side by side on real graphs, against SciPy.

`harness` times and verifies, `rival` says what the methods are measured against, `machine`
describes where that happened, `report` prints the table and writes the JSON file. `search_tables`
and `matrix_tables` measure our figures beside the published ones, which files of the same names in
`sssp.papers` hold.
"""
