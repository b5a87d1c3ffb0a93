"""The forms of a dump, a file each. All are written from the rows of `node_rows`."""
