"""Tables in files, read piece by piece: CSV, numpy's `.npy` and `.npz`, Parquet.

`formats.open_table` chooses the reader by the name of the file; `tables` says what a table and a piece of one are;
`numpy_files.load_array` reads an array that numpy saved. The functions of the language (`load_csv`, `load_npy`,
`chunks`) stand in `engine/ops/data_files`. pyarrow is imported only where it reads or writes something.
"""
