"""What Jupyter starts: `python -m agrad.cli.integrations.jupyter -f FILE`."""

from agrad.cli.integrations.jupyter.kernel import main

if __name__ == "__main__":
    main()
