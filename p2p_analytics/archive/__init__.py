"""Archives: one person's history in a folder of Parquet files, to open, merge, sync, read and scan.

``manifest.json`` lists the valid files. A change writes files under new names and then replaces the
manifest, so a crash at any moment leaves the old state or the new one.
"""

from p2p_analytics.archive._archive import Archive, open_archive
from p2p_analytics.archive._rewrite import Changes
from p2p_analytics.archive.collection import Archives, open_archives
from p2p_analytics.archive.imports.rows import ImportPlan

__all__ = ["Archive", "Archives", "Changes", "ImportPlan", "open_archive", "open_archives"]
