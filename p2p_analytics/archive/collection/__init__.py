"""Several archives in one folder, and archives that are written from columns."""

from p2p_analytics.archive.collection._archives import Archives, open_archives
from p2p_analytics.archive.collection._writer import PaymentColumns, write_archive

__all__ = ["Archives", "PaymentColumns", "open_archives", "write_archive"]
