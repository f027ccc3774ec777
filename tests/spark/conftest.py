"""Spark on this machine only: one session for all tests, with its files in a temporary folder.

`make test-all` puts PySpark beside the environment, where Java is, because it takes half a gigabyte.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from analyses.conftest import payments_frame

from p2p_analytics.frames.arrow import table_of

BESIDE = Path(sys.prefix) / "spark"
OLDEST_JAVA = 17


def _find_missing():
    """Return what Spark lacks here, as a reason to skip tests."""
    java = shutil.which("java")
    advice = f"install Java {OLDEST_JAVA} or newer (on Debian, default-jre-headless) to run the tests of Spark"
    if java is None:
        return f"Java is not installed: {advice}"
    told = subprocess.run([java, "-version"], capture_output=True, encoding="utf-8", check=False, timeout=60).stderr  # noqa: S603 - no input
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version[1]) < OLDEST_JAVA:
        return f"Java is too old for Spark: {advice}"
    return None if BESIDE.is_dir() else "PySpark is not installed: `make test-all` installs it if PyPI can be reached"


def isolate(patch, folder):
    """Keep Spark away from the settings of the machine, and return the options of a session on 127.0.0.1."""
    for name in [name for name in os.environ if name.startswith(("SPARK_", "PYSPARK_"))]:
        patch.delenv(name)
    patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    patch.setenv("SPARK_LOCAL_HOSTNAME", "127.0.0.1")
    patch.setenv("PYSPARK_PYTHON", str(folder / "no-python"))  # nothing that analyses do needs it
    quick = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Djava.io.tmpdir={folder}"
    return {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": quick,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.extraJavaOptions": quick,
        "spark.executor.memory": "512m",
        "spark.local.dir": str(folder),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@pytest.fixture(scope="session")
def pyspark():
    """Skip a test where Spark cannot run; else let PySpark be imported, after the packages of the environment."""
    if missing := _find_missing():
        pytest.skip(missing)
    sys.path.append(str(BESIDE))
    yield
    sys.path.remove(str(BESIDE))


@pytest.fixture(scope="session")
def spark(pyspark, tmp_path_factory):
    """Yield a session with one local worker."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        options = isolate(patch, tmp_path_factory.mktemp("spark"))
        session = SparkSession.builder.master("local[1]").config(map=options).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def configure(spark):
    """Return a function that changes an option of the session until the end of the test."""
    before: dict[str, str] = {}

    def change(name, value):
        before.setdefault(name, spark.conf.get(name))
        spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture
def to_spark(spark):
    """Return a function that converts a pandas frame to a DataFrame of the session."""
    return lambda frame: spark.createDataFrame(table_of(frame))


@pytest.fixture
def build():
    """Return a function that builds a pandas payments frame from literal rows."""
    return payments_frame
