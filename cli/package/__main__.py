"""`python -m agrad` is the command `agrad`."""

from agrad.cli.__main__ import process

if __name__ == "__main__":
    process()
