"""Text of an exception with everything that it refers to."""

import traceback


def format_everything(error: BaseException) -> str:
    """Return all texts of an exception: message, arguments, attributes, chain, and traceback with local variables.

    The frame of the test itself is left out, because it knows the secret.
    """
    error = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
    lines = traceback.TracebackException.from_exception(error, capture_locals=True).format()
    return "".join(lines) + repr([error, error.args, vars(error), error.__context__, error.__cause__])
