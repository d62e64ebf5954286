"""`python -m tileops`: the same command line as the console script."""

import sys

from tileops.cli import main

if __name__ == "__main__":
    sys.exit(main())
