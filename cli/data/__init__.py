"""Files of numbers: tables read piece by piece, values from files, and writers."""
