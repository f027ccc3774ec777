"""The accessor ``p2p`` of pandas and Polars frames: the analyses as methods."""

from __future__ import annotations

import sys

from p2p_analytics.catalogue import ANALYSES

TYPE_CHECKING = False  # typing is not imported, as in p2p_analytics
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_NAME = "p2p"
_LIBRARIES = {"pandas", "polars"}
_METHODS = sorted([*ANALYSES, "categorise"])


class PaymentsAccessor:
    """The analyses as methods of a frame of payments: ``payments.p2p.spend_by_friend()``.

    Each is the function of `p2p_analytics` with this name, called with the frame as its first argument.
    """

    def __init__(self, frame: Any) -> None:  # noqa: ANN401 - of any kind
        self._frame = frame

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return an analysis of this frame."""
        from types import MethodType

        if name not in _METHODS:
            raise AttributeError(f"There is no analysis {name!r}: dir(payments.p2p) lists them.")
        from p2p_analytics import analyses

        return MethodType(getattr(analyses, name), self._frame)

    def __dir__(self) -> list[str]:
        """List the analyses, for completion."""
        return _METHODS


def register() -> None:
    """Add the accessor to the frames of pandas and Polars, now or when they are imported; imports neither."""
    waiting = {name for name in _LIBRARIES if name not in sys.modules}
    for name in _LIBRARIES - waiting:
        if (module := sys.modules[name]) is not None:
            _add_to(module)
    if waiting and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(waiting))


class _Finder:
    """Finder that delegates to the others, and adds the accessor at the end of an import of pandas or Polars."""

    def __init__(self, waiting: set[str]) -> None:
        self._waiting = waiting

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that another finder has for pandas or Polars, and None for every other module."""
        if name not in self._waiting:
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                if hasattr(spec.loader, "exec_module"):
                    self._follow(spec)
                return spec
        return None

    def _follow(self, spec: ModuleSpec) -> None:
        """Replace the loader's method for one call."""
        loader: Any = spec.loader
        execute = loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)
            self._waiting.discard(spec.name)
            if not self._waiting and self in sys.meta_path:
                sys.meta_path.remove(self)
            _add_to(module)

        loader.exec_module = execute_and_register


def _add_to(library: Any) -> None:  # noqa: ANN401 - pandas or Polars
    """Add the accessor to the frames of a library."""
    if hasattr(library.DataFrame, _NAME):
        return
    if library.__name__ == "pandas":
        library.api.extensions.register_dataframe_accessor(_NAME)(PaymentsAccessor)
    else:
        library.api.register_dataframe_namespace(_NAME)(PaymentsAccessor)
        library.api.register_lazyframe_namespace(_NAME)(PaymentsAccessor)
