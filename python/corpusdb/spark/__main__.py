"""`python -m corpusdb.spark doctor`: whether a cluster can run a job."""

from __future__ import annotations

import argparse
import sys

from corpusdb.spark import doctor

__all__ = ["main"]


def main() -> int:
    """Prints the findings; 1 when one of them is bad."""
    asked = argparse.ArgumentParser(prog="python -m corpusdb.spark", description="Deduplication on a cluster.")
    verbs = asked.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("doctor", help="look at a cluster: Python, packages, fingerprints, Arrow batches, threads, Java")
    one.add_argument("--remote", metavar="URL", help="a server of Spark Connect, sc://HOST:PORT; else the session that Spark finds")
    one.add_argument("--tasks", type=int, default=8, help="probing tasks (default 8): enough that every worker gets one")
    given = asked.parse_args()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("corpusdb doctor")
    spark = (builder.remote(given.remote) if given.remote else builder).getOrCreate()
    findings = doctor(spark, given.tasks)
    for finding in findings:
        print(finding)
    spark.stop()
    return int(any(finding.way_out for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
