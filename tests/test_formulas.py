"""Formulas in text cells are defused, and restored exactly."""

import itertools
import re
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pandas.testing import assert_frame_equal

from p2p_analytics.export import read_csv, to_csv
from p2p_analytics.formulas import defuse_formulas, restore_formulas
from support.hostile_texts import TRIGGERS


def test_every_short_text_is_defused_and_comes_back() -> None:
    """Of all texts of up to four troublesome characters none can run, on no line, and each comes back."""
    alphabet = "a' =\t\r\n\0\x0b\u200b\u00a0\x85\uff1d-"
    texts = ["".join(letters) for length in range(5) for letters in itertools.product(alphabet, repeat=length)]
    column = pa.array(texts)
    safe = defuse_formulas(column)
    assert restore_formulas(safe).to_pylist() == texts
    blanks = " \x0b\u200b\u00a0\x85"
    running = [
        text
        for text in safe.to_pylist()
        if text.lstrip(" \x0b\u00a0\x85").startswith(TRIGGERS)
        or any(line.lstrip(blanks).startswith(("=", "-", "\uff1d")) for line in re.split("[\r\n]", text))
    ]
    assert running == []


def test_defusing_takes_time_in_proportion(tmp_path: Path) -> None:
    """A hundred thousand blanks or line ends before a sign cost one look each, not one for each pair."""
    frame = pd.DataFrame({"note": ["\n" * 100_000 + "=1", "\r" * 100_000, " " * 100_000 + "=1", "\n'" * 100_000]})
    started = time.process_time()
    to_csv(frame, tmp_path / "p.csv")
    assert_frame_equal(read_csv(tmp_path / "p.csv"), frame)
    assert time.process_time() - started < 5
