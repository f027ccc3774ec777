"""Tests of the analyses on Spark: each table equals that of pandas, which other tests compare with arithmetic."""

import random
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl
import pytest
from spark.calls import CALLS, list_columns

import p2p_analytics as p2p
from p2p_analytics.analyses import _engine
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.errors import ConfigurationError, SchemaError
from support.analyses import containers
from support.analyses.cases import compare, pick
from support.analyses.kinds import KINDS, list_expected, make_table
from support.analyses.records import make_town

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


@pytest.fixture(scope="module")
def frame():
    """Return three hundred payments around changes of the clocks, with nulls everywhere."""
    from analyses.conftest import payments_frame

    chance = random.Random(3)  # noqa: S311 - no secret
    hours = ["2009-11-01T02:30:00Z", "2009-11-01T02:31:00Z", "2011-03-13T03:30:59.999999Z", None]
    return payments_frame(
        [
            {
                "status": chance.choice(["settled", "settled", "pending", "failed", None]),
                "action": chance.choice(["pay", "charge", "charge", None]),
                "direction": chance.choice(["in", "in", "out", None]),
                "flow_cents": chance.choice([None, 500, 500, chance.randrange(-(10**6), 10**6)]),
                "counterparty_id": chance.choice([None, "7", "007"]),
                "counterparty_name": chance.choice([None, "Zo\u00eb", "\U0001f35c"]),
                "note": chance.choice([None, "rent", " RENT\u2003", "\U0001f355 for two", "\u0130d\u00e9e", "rehab"]),
                "audience": chance.choice([None, "public", "friends", "private"]),
                "created": chance.choice(hours),
                "completed": chance.choice(hours),
            }
            for _ in range(300)
        ]
    )


@pytest.fixture(scope="module")
def compute_here(frame):
    """Return a function that returns the columns of an analysis of the pandas frame."""
    found: dict[str, dict[str, list[Any]]] = {}

    def find(name):
        if name not in found:
            found[name] = list_columns(CALLS[name](frame))
        return found[name]

    return find


def interpret(configure):
    """Let Spark interpret expressions: it does not compile code of Java for each query, which takes long."""
    configure("spark.sql.codegen.wholeStage", "false")
    configure("spark.sql.codegen.factoryMode", "NO_CODEGEN")


def test_every_analysis_is_called():
    """A new analysis belongs into the table of calls."""
    assert {name.partition(",")[0] for name in CALLS} == {*ANALYSES, "categorise"}


@pytest.mark.parametrize("name", list(CALLS))
def test_each_table_equals_that_of_pandas(to_spark, frame, compute_here, name):
    """Row for row and cent for cent, in the same order, as a DataFrame of the same session."""
    from pyspark.sql import DataFrame

    found = CALLS[name](to_spark(frame))
    assert isinstance(found, DataFrame)
    assert list_columns(found) == compute_here(name)


def test_quotients_of_kinds(spark):
    """Each is the float next to the quotient; whole days are rounded down; null stays null."""
    frame = spark.createDataFrame(make_table())
    finished_here = pl.DataFrame(make_table()).lazy()
    for computed in (frame, finished_here):
        result = _engine.to_result(nw.from_native(computed), frame, KINDS)
        assert [row.asDict() for row in result.collect()] == list_expected()


@pytest.mark.parametrize("name", list(CALLS))
def test_other_settings_change_nothing(to_spark, frame, compute_here, configure, name):
    """A view in several parts, with columns that are no columns of payments; SQL not ANSI, and not compiled."""
    from pyspark.sql import functions

    configure("spark.sql.ansi.enabled", "false")
    interpret(configure)
    configure("spark.sql.adaptive.enabled", "true")
    configure("spark.sql.shuffle.partitions", "2")
    configure("spark.sql.autoBroadcastJoinThreshold", "-1")
    backwards = to_spark(frame.iloc[::-1]).repartition(2, "payment_id")
    nested = functions.struct(functions.array(functions.lit(1)).alias("status")).alias("a.`b")
    backwards.select("*", nested, functions.lit(None).alias("direction ")).createOrReplaceTempView("several_parts")
    found = list_columns(CALLS[name](backwards.sparkSession.table("several_parts")))
    if name == "categorise":  # which keeps the rows as they are
        found = {"category": [value for _, value in sorted(zip(*found.values(), strict=True), key=lambda row: row[0])]}
        found = {"payment_id": sorted(frame["payment_id"]), **found}
    assert found == compute_here(name)


@pytest.mark.parametrize("name", list(CALLS))
def test_empty_frames(to_spark, build, frame, configure, name):
    """A frame without rows has the same columns and types, and gives the table that pandas gives."""
    interpret(configure)
    empty, few = build([]), frame.head(5)
    found = CALLS[name](to_spark(empty))
    assert list_columns(found) == list_columns(CALLS[name](empty))
    assert found.dtypes == CALLS[name](to_spark(few)).dtypes


@pytest.mark.parametrize("name", list(CALLS))
def test_a_session_in_another_zone_is_refused(to_spark, frame, configure, name):
    """Dates without a zone would be moved; also where the zone changes after the frame was made."""
    payments = to_spark(frame)
    configure("spark.sql.session.timeZone", "America/New_York")
    sentence = f"{name.partition(',')[0]}: the Spark session is in the time zone America/New_York.*spark.conf.set"
    with pytest.raises(SchemaError, match=sentence):
        CALLS[name](payments)


def test_a_result_in_a_session_that_changes_its_zone(to_spark, frame, configure):
    """A table that is computed after the zone changed is that of UTC; dates without a zone too."""
    payments = to_spark(frame)
    naive = payments.withColumns({name: payments[name].cast("timestamp_ntz") for name in ("date_created",)})
    tables = {name: CALLS[name](naive) for name in ("spend_by_friend", "pending_ageing", "split_bills")}
    configure("spark.sql.session.timeZone", "Asia/Kolkata")
    for name, table in tables.items():
        assert list_columns(table) == list_columns(CALLS[name](frame))


def test_columns_that_differ_in_case(spark, to_spark, frame, configure):
    """Spark sees no difference unless it is set to; only columns that an analysis reads matter."""
    from pyspark.sql import functions

    configure("spark.sql.caseSensitive", "true")
    payments = to_spark(frame).withColumn("STATUS", functions.lit("settled"))
    payments.createOrReplaceTempView("in_both_cases")
    assert list_columns(p2p.status_mix(spark.table("in_both_cases"))) == list_columns(p2p.status_mix(frame))
    configure("spark.sql.caseSensitive", "false")
    with pytest.raises(SchemaError, match=r"not two columns status and STATUS, .*; rename or drop one"):
        p2p.status_mix(payments)


def test_an_archive(spark, tmp_path, history_of, payment, configure):
    """A scan is a DataFrame of the active session, with every column; a session in another zone is refused."""
    from p2p_analytics.frames.schema import PAYMENTS

    archive = p2p.open_archive(tmp_path / "a[b]*")
    march = payment(0, date_created="2024-03-01T02:00:00")  # in New York still February
    archive.merge(history_of(march, payment(1, fee={"amount": 3}), payment(9, date_created=None)))
    scan = archive.scan("spark")
    assert scan.sparkSession is spark
    assert scan.columns == [*PAYMENTS, "created_us", "completed_us", "settle_us"]
    months = scan.filter("payment_id = '0'").selectExpr("month(date_created) AS month").toArrow()
    assert months.to_pylist() == [{"month": 3}]
    assert list_columns(p2p.status_mix(scan)) == list_columns(p2p.status_mix(archive.history().payments))
    configure("spark.sql.session.timeZone", "America/New_York")
    with pytest.raises(ConfigurationError, match="another zone"):
        archive.scan("spark")


def test_a_town_by_loops(spark, record_property):
    """Each table equals that of plain loops, in another zone and with other arguments than above."""
    records, zone = make_town(3), ("America/New_York",)
    runs = [(case, zone if case.has_zone else ()) for case in pick(0)]
    expected = [(case, arguments, case.expect(records, *arguments)) for case, arguments in runs]
    compare(
        "Spark", containers.to_spark(containers.make_table(records, {})), expected, record_property, ("seeds", "zones")
    )
