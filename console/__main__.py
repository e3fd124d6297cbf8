"""``python -m console`` is ``unstick``."""

import sys

from unstick import main

sys.exit(main())
