"""One Spark session for the tests: of Sail, or with CORPUSDB_SPARK=jvm of Spark itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    # Tasks run this interpreter, not whatever stands first in PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    if os.environ.get("CORPUSDB_SPARK") == "jvm":
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.shuffle.partitions", "3").config("spark.driver.memory", "2g")
        made = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
        made.sparkContext.setLogLevel("ERROR")
        yield made
        made.stop()
        return
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer()
    server.start()
    _, port = server.listening_address
    # So that a test can have a program of its own connect to it.
    os.environ["CORPUSDB_SPARK_ADDRESS"] = f"sc://localhost:{port}"
    made = SparkSession.builder.remote(os.environ["CORPUSDB_SPARK_ADDRESS"]).getOrCreate()
    made.conf.set("spark.sql.shuffle.partitions", "3")
    yield made
    made.stop()
    server.stop()
