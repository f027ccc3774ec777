"""The commands for statement files: ``import``, ``describe``, ``undo`` and ``people``."""
