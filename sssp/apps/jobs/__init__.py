"""Jobs: many blocks of rows, on the devices of many hosts, into a table larger than memory.

`sssp.apps.jobs.job` has the call, `blocks` the one function that all workers run, `stores` how a
table is cut and the files that it goes to, `manifest` the record of what is done, `runners` the
threads, executors and clusters that run blocks.
"""
