"""Tables in files, read piece by piece: text (CSV and the like), JSON lines, numpy's files, Arrow, Parquet, folders.

`formats.open_table` chooses the reader by the name of the file; `tables` defines a table and a piece of one; `dialect`
finds how a text is divided, `streams` reads what is compressed. The functions of the language (`load_csv`, `load_npy`,
`chunks`) are in `engine/ops/data_files`. pyarrow is imported only if it reads or writes something.
"""
