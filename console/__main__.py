"""``python -m console`` is ``unstick``."""

import sys

from console.cli.main import main

sys.exit(main())
