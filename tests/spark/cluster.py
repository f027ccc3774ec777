"""Two analyses of an archive on a cluster: the driver is this process, and the executor another.

Called with the folder of the archive and a folder for Spark's files; prints one line of JSON.
"""

import json
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS), str(TESTS.parent), str(Path(sys.prefix) / "spark")]


def main(archive, folder):
    """Return the columns of the tables, and the number of processes that computed."""
    import pyspark
    from pyspark.sql import SparkSession
    from spark.conftest import isolate

    import p2p_analytics as p2p
    from support.analyses.calls import CALLS
    from support.analyses.containers import read_rows

    with pytest.MonkeyPatch.context() as patch:
        options = isolate(patch, folder)
        # Workers write beside the programs that they start, so these are linked into the folder.
        for name in ("bin", "jars"):
            (folder / name).symlink_to(Path(pyspark.__file__).parent / name)
        patch.setenv("SPARK_HOME", str(folder))
        session = SparkSession.builder.master("local-cluster[1,1,1024]").config(map=options).getOrCreate()
    try:
        session.sparkContext.setLogLevel("ERROR")
        scan = p2p.open_archive(archive).scan("spark")
        tables = {name: read_rows(CALLS[name](scan)) for name in ("monthly_flow", "request_outcomes")}
        processes = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
        return {"tables": tables, "processes": len(processes)}
    finally:
        session.stop()


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))  # noqa: T201 - its purpose
