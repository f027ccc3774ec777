"""See through years of peer-to-peer payments: load, flatten, analyse, plot and export them.

Every public name is here and loads on first use, so that importing the package stays light::

    import p2p_analytics as p2p

    client = p2p.Client(token, base_url="https://host/v1")
    history = p2p.load_history(client)
    friends = p2p.spend_by_friend(history.payments, history.friends)
    p2p.plots.spend_by_friend(friends)
"""

from __future__ import annotations

import os
import sys

from p2p_analytics import accessor
from p2p_analytics.catalogue import ANALYSES

__version__ = "0.1.0"


def _read_names() -> dict[str, str]:
    """Return the module of each public name, by the imports of the stub file."""
    stub = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi").decode()  # the package may be in a zip file
    imports = [line.split() for line in stub.splitlines() if line.startswith("from ")]
    # Each is: from MODULE import NAME as NAME
    names = {name: module for _, module, _, name, *_ in imports if name != "*"}
    return names | dict.fromkeys(ANALYSES, "p2p_analytics.analyses")


_MODULES = _read_names()
__all__ = sorted(_MODULES)  # noqa: PLE0605 - type checkers read the stub file


def _mark_fork() -> None:
    if "polars" in sys.modules:
        from importlib import import_module

        import_module(f"{__name__}.forks").mark_process()


accessor.register()

# Here, because the analyses may be loaded only after the fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_fork)


def __getattr__(name: str) -> object:
    """Load a public name from its module on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_MODULES[name])
    value = import_module(f"{__name__}.{name}") if module is sys.modules[__name__] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names before they are loaded."""
    return [*__all__, "__version__"]
