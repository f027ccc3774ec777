"""``python -m p2p_analytics`` and the command ``p2p-analytics``, as a process."""

from __future__ import annotations

import os
import sys

from p2p_analytics import cli


def main() -> int:
    """Run the command line and return its exit code."""
    os.environ.setdefault("MPLBACKEND", "agg")  # pictures go into files: no window toolkit need be there
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
