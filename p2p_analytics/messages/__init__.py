"""Messages that users copy and send themselves; this package sends nothing."""

from p2p_analytics.messages._reminders import reminders, write_reminders

__all__ = ["reminders", "write_reminders"]
