"""Run the command line of the lab as `python -m sgat_lab`."""

import sys

from sgat_lab.cli import main

sys.exit(main())
