"""Names and notes that attack what shows them: spreadsheets, pages, Markdown, terminals, and readers of text."""

TRIGGERS = tuple("=+-@\t\r\n\0＝＋－＠")  # noqa: RUF001 - with which a spreadsheet takes a cell for a formula
FORMULAS = ("=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "a\n=1", "＝1", "\u200b=1")  # noqa: RUF001
MARKUP = (
    "<script>alert(1)</script>", '<img src=x onerror="alert(1)">', "</style></title><b>", "&lt;b&gt;", "{{ 7 * 7 }}",
    "[pay](javascript:alert(1)) | **b** `c`", "$\\frac{1$", "_under_ %s {0}", "'; DROP TABLE payments; --", "null",
)  # fmt: skip
CONTROLS = (
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b31m", "bell\x07", "\u202eevil\u202c", "\u2066isolate\u2069",
    "zero\u200bwidth\u200d", "\ufeffmark", "line one\nline two\r\nthree", "\u2028separator", "x" * 5000,
)  # fmt: skip
TEXTS = (*FORMULAS, *MARKUP, *CONTROLS)
