"""``python -m console`` is ``unstick``."""

import sys

from console.cli import main

sys.exit(main())
