"""Files of numbers on the command line: the values of `x=@data.csv`, and the tables that `agrad map` reads and writes.

Tables are read and written piece by piece, as columns of numbers. Used by `commands/map` and `arguments/expression`,
which import from here when a command names a file: all this needs numpy.
"""
