"""The dump of a graph. `dump.dump` is the entry: it finds the nodes (`slice` chooses among them) and returns a `Dump`.

`graph_rows` and `node_rows` hold the graph as plain data, a row for each node; `labels` has the words and lines that
several forms share; `forms/` has a file for each form of text, `pictures/` one for each form of a picture. `compare`
makes one graph of two, of which `matching` says what is the same. From outside, import `dump.dump`, `dump.FORMATS` and
`compare.compare` only.
"""
