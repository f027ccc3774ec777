"""Archives: one person's history in a folder of Parquet files, to open, merge, sync, read and scan.

``manifest.json`` lists the valid files: the service's payments, and the rows of each import of statements. A change
writes files under new names and then replaces the manifest, so a crash at any moment leaves the old state or the new
one. Everything else is derived from these files, and cached in files that may be deleted.
"""

from p2p_analytics.archive._archive import Archive, Archives, open_archive, open_archives
from p2p_analytics.archive._imports import ImportPlan, UndoPlan
from p2p_analytics.archive._service import Changes
from p2p_analytics.archive._view import PEOPLE_LINE

__all__ = ["PEOPLE_LINE", "Archive", "Archives", "Changes", "ImportPlan", "UndoPlan", "open_archive", "open_archives"]
