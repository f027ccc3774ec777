"""Local service that implements the whole interface document, for demos, notebooks and tests.

It is a second implementation of the document: it shares vocabulary and numbers with the toolkit, but no parsing.
This folder's README lists its decisions where the document is open.
"""

from __future__ import annotations

from p2p_analytics.sandbox.domain.applications import Application
from p2p_analytics.sandbox.errors import SandboxError, SettingError, UnknownPersonError
from p2p_analytics.sandbox.serve import serve
from p2p_analytics.sandbox.server import SandboxServer

__all__ = ["Application", "SandboxError", "SandboxServer", "SettingError", "UnknownPersonError", "serve"]
