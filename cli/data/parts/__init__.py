"""`agrad map` from many files into a folder, which gets a file for each file of the input.

`plan` says which parts there are, and what their files are called. `work` is what is to be done for each of them: a
plain object that other processes can be sent. `record` keeps in the folder what has been asked for, and which parts are
done, so that an interrupted run can be continued; until all are, they are in a folder of their own inside of it. `run`
puts these together, in this process or on a cluster.
"""
