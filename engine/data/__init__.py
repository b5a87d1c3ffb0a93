"""Tables in files, read piece by piece: CSV, numpy's `.npy` and `.npz`, Parquet.

`formats.open_table` chooses the reader by the name of the file; `tables` defines a table and a piece of one;
`numpy_files.load_array` reads an array that numpy saved. The functions of the language (`load_csv`, `load_npy`,
`chunks`) are in `engine/ops/data_files`. pyarrow is imported only if it reads or writes something.
"""
