"""`python -m corpusdb.spark doctor` checks whether a cluster can run a job."""

from __future__ import annotations

import argparse
import sys

from corpusdb.spark import doctor

__all__ = ["main"]


def main() -> int:
    """Prints the findings. Returns 1 if one of them is bad."""
    asked = argparse.ArgumentParser(prog="python -m corpusdb.spark", description="Deduplication on a cluster.")
    verbs = asked.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("doctor", help="check a cluster: Python, packages, fingerprints, Arrow batches, threads, Java")
    one.add_argument("--remote", metavar="URL", help="a server of Spark Connect, sc://HOST:PORT (default: the session that Spark finds)")
    one.add_argument("--tasks", type=int, default=8, help="number of probing tasks (default 8); take enough for every worker to get one")
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
