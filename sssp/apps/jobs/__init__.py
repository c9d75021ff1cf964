"""Jobs: many blocks of rows, on the devices of many hosts, into a table that outgrows memory.

`sssp.apps.jobs.job` has the call, `blocks` the one function that all workers run, `layout` how a
table is cut, `zarr_store` and `parquet_parts` where it goes, `manifest` what is done of it,
`runners` who does it.
"""
