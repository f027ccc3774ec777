"""``python -m p2p_analytics`` and the command ``p2p-analytics``."""

from __future__ import annotations

import sys

from p2p_analytics.cli import main

if __name__ == "__main__":
    sys.exit(main())
