"""Several processes, or several machines, through Dask: an extra, imported only where it is asked for.

`connection` starts a cluster, or finds one, checks its workers, and says in one line what is wrong with it.
"""
