"""`python -m rankgate.cli`."""

import sys

from rankgate.cli import main

sys.exit(main())
