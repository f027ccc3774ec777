"""Parts of the sandbox's OpenAPI document."""

from __future__ import annotations

from typing import Any


def schema_of(description: Any, name: str) -> Any:
    """Return a schema of the document by its name."""
    return description["components"]["schemas"][name]


def operation_of(description: Any, path: str, method: str) -> Any:
    """Return an operation of the document."""
    return description["paths"][path][method]


def answer_schema_of(description: Any, path: str, method: str, status: int) -> Any:
    """Return the schema of an answer."""
    answer = operation_of(description, path, method)["responses"][str(status)]
    return answer["content"]["application/json"]["schema"]
