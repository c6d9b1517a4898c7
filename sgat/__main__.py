"""Run the command line as `python -m sgat`."""

import sys

from sgat.cli import main

sys.exit(main())
