"""The bench, ``python -m sssp.bench``: methods side by side on real graphs, against SciPy.

`harness` times and verifies, `rivals` names what the methods are measured against, `machine`
describes where that happened, `report` prints the table and writes the JSON file; `tables`
holds published figures and measures ours beside them.
"""
