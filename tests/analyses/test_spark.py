"""Tests of the analyses on Spark: each table equals that of pandas, which other tests compare with arithmetic."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics import monthly_flow, pending_ageing, pending_requests, spend_by_friend, status_mix
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.arrow import table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    Builder = Callable[..., pd.DataFrame]

sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed: it takes a gigabyte")
if not shutil.which("java"):
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)

ANALYSES: dict[str, Callable[[Any], Any]] = {
    "spend_by_friend": spend_by_friend,
    "status_mix": status_mix,
    "monthly_flow": lambda frame: monthly_flow(frame, "America/St_Johns"),
    "pending_ageing": lambda frame: pending_ageing(frame, "2011-06-30"),
    "pending_requests": lambda frame: pending_requests(frame, "2011-06-30"),
}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Yield a session with one local worker."""
    options = {
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.driver.memory": "512m",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
    }
    session = sql.SparkSession.builder.master("local[1]").config(map=options).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def frame(build: Builder) -> pd.DataFrame:
    """Return three hundred payments around changes of the clocks, with nulls everywhere."""
    chance = random.Random(3)  # noqa: S311 - no secret
    hours = ["2009-11-01T02:30:00Z", "2009-11-01T02:31:00Z", "2011-03-13T03:30:59.999999Z", None]
    return build(
        [
            {
                "status": chance.choice(["settled", "settled", "pending", "failed", None]),
                "action": chance.choice(["pay", "charge", None]),
                "direction": chance.choice(["in", "out", None]),
                "flow_cents": chance.choice([None, chance.randrange(-(10**6), 10**6)]),
                "counterparty_id": chance.choice([None, "7", "007"]),
                "counterparty_name": chance.choice([None, "Zo\u00eb", "\U0001f35c"]),
                "created": chance.choice(hours),
                "completed": chance.choice(hours),
            }
            for _ in range(300)
        ]
    )


@pytest.mark.parametrize("name", list(ANALYSES))
def test_each_table_equals_that_of_pandas(spark: Any, frame: pd.DataFrame, name: str) -> None:
    """Row for row and cent for cent, in the same order, as a DataFrame of the same session."""
    found = ANALYSES[name](spark.createDataFrame(table_of(frame)))
    expected = ANALYSES[name](frame)
    assert isinstance(found, sql.DataFrame)
    assert found.toArrow().to_pydict() == expected.astype(object).where(expected.notna(), None).to_dict("list")


@pytest.mark.parametrize("name", list(ANALYSES))
def test_empty_frames(spark: Any, build: Builder, name: str) -> None:
    """A frame without rows has the same columns and types."""
    empty, full = (
        ANALYSES[name](spark.createDataFrame(table_of(build(rows))))
        for rows in ([], [{"direction": "out", "flow_cents": -1, "created": "2024-01-01T00:00:00Z"}])
    )
    assert empty.dtypes == full.dtypes


def test_a_session_in_another_zone_is_refused(spark: Any, frame: pd.DataFrame) -> None:
    """Dates without a zone would be moved."""
    payments = spark.createDataFrame(table_of(frame))
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        with pytest.raises(SchemaError, match="the Spark session is in the time zone America/New_York"):
            spend_by_friend(payments)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
