"""The commands that show the payments of an archive: ``export``, ``report`` and ``reminders``."""
