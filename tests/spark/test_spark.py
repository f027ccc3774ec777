"""Tests of the analyses on Spark: each table equals the table of pandas."""

from functools import cache

import pytest
from analyses.conftest import payments_frame
from analyses.engines.test_quotients import EXPECTED, list_rows, read_quotients

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, SchemaError
from support.analyses.calls import CALLS
from support.analyses.containers import make_table, read_rows, to_pandas
from support.analyses.records import HOSTILE

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


@pytest.fixture(scope="module")
def frame():
    """Return payments around changes of the clocks, with nulls and odd words everywhere."""
    return to_pandas(make_table(HOSTILE["a mixture"](), {})).sort_values("payment_id", ignore_index=True)


@pytest.fixture(scope="module")
def compute_here(frame):
    """Return a function that returns the rows of an analysis of the pandas frame."""
    return cache(lambda name: read_rows(CALLS[name](frame)))


def interpret(configure):
    """Let Spark interpret expressions: it does not compile code of Java for each query, which takes long."""
    configure("spark.sql.codegen.wholeStage", "false")
    configure("spark.sql.codegen.factoryMode", "NO_CODEGEN")


@pytest.mark.parametrize("name", list(CALLS))
def test_each_table_equals_that_of_pandas(to_spark, frame, compute_here, name):
    """Row for row and cent for cent, in the same order, as a DataFrame of the same session."""
    from pyspark.sql import DataFrame

    found = CALLS[name](to_spark(frame))
    assert isinstance(found, DataFrame)
    assert read_rows(found) == compute_here(name)


def test_quotients(to_spark):
    """Each is the float next to the quotient; whole days are rounded down."""
    assert read_quotients(to_spark(payments_frame(list_rows()))) == EXPECTED


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
    found = read_rows(CALLS[name](backwards.sparkSession.table("several_parts")))
    if name.startswith("categorise"):  # which keeps the rows as they are
        found.sort(key=lambda row: row["payment_id"])
    assert found == compute_here(name)


@pytest.mark.parametrize("name", list(CALLS))
def test_empty_frames(to_spark, build, frame, configure, name):
    """A frame without rows has the same columns and types, and gives the table that pandas gives."""
    interpret(configure)
    empty, few = build([]), frame.head(5)
    found = CALLS[name](to_spark(empty))
    assert read_rows(found) == read_rows(CALLS[name](empty))
    assert found.dtypes == CALLS[name](to_spark(few)).dtypes


@pytest.mark.parametrize("name", ["status_mix", "categorise", "exposure"])
def test_a_session_in_another_zone_is_refused(to_spark, frame, configure, name):
    """Dates without a zone would be moved; also where the zone changes after the frame was made."""
    payments = to_spark(frame)
    configure("spark.sql.session.timeZone", "America/New_York")
    sentence = f"{name}: the Spark session is in the time zone America/New_York.*spark.conf.set"
    with pytest.raises(SchemaError, match=sentence):
        CALLS[name](payments)


def test_a_result_in_a_session_that_changes_its_zone(to_spark, frame, configure):
    """A table that is computed after the zone changed is in UTC; dates without a zone too."""
    payments = to_spark(frame)
    naive = payments.withColumns({name: payments[name].cast("timestamp_ntz") for name in ("date_created",)})
    tables = {name: CALLS[name](naive) for name in ("spend_by_friend", "pending_ageing", "split_bills")}
    configure("spark.sql.session.timeZone", "Asia/Kolkata")
    for name, table in tables.items():
        assert read_rows(table) == read_rows(CALLS[name](frame))


def test_columns_that_differ_in_case(spark, to_spark, frame, configure):
    """Spark sees no difference unless it is set to; only columns that an analysis reads matter."""
    from pyspark.sql import functions

    configure("spark.sql.caseSensitive", "true")
    payments = to_spark(frame).withColumn("STATUS", functions.lit("settled"))
    payments.createOrReplaceTempView("in_both_cases")
    assert read_rows(p2p.status_mix(spark.table("in_both_cases"))) == read_rows(p2p.status_mix(frame))
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
    assert read_rows(p2p.status_mix(scan)) == read_rows(p2p.status_mix(archive.history().payments))
    configure("spark.sql.session.timeZone", "America/New_York")
    with pytest.raises(ConfigurationError, match="another zone"):
        archive.scan("spark")
