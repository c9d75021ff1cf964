"""Jobs: compute a table larger than memory, in blocks of rows, on devices of many hosts.

`sssp.apps.jobs.job` has the call, `blocks` the one function that all workers run, `stores` how a
table is cut and the files that it goes to, `manifest` the record of what is done, `runners` the
threads, executors and clusters that run blocks.
"""
