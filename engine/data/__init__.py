"""Tables in files, read piece by piece: text (CSV and the like), JSON lines, numpy's files, Arrow, Parquet, folders.

`formats.open_table` chooses the reader by the name of the file; `tables` defines a table and a piece of one;
`text_tables` reads what is compressed, and cuts text into blocks; `csv_tables` finds how it is divided. The functions
of the language (`load_csv`, `load_npy`, `chunks`) are in `engine/ops/data_files`. pyarrow is imported only if it reads
or writes something.
"""

from typing import TYPE_CHECKING

from agrad.lazy import lazy

if TYPE_CHECKING:
    from agrad.engine.data import arrow as arrow
    from agrad.engine.data import csv_tables as csv_tables
    from agrad.engine.data import json_lines as json_lines
    from agrad.engine.data import numpy_files as numpy_files
    from agrad.engine.data import tables as tables

__getattr__ = lazy(__name__)
