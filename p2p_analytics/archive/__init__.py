"""A folder of Parquet files that holds one person's history: open it, merge, sync, read and scan it.

``manifest.json`` names the files that count. A change writes files under new names and then replaces
the manifest, so a crash at any moment leaves the old state or the new one.
"""

from p2p_analytics.archive._archive import Archive, open_archive
from p2p_analytics.archive._writing import Changes

__all__ = ["Archive", "Changes", "open_archive"]
