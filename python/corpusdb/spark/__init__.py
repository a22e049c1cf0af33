"""Deduplication on a cluster: Spark makes the decisions of a corpus, if one machine cannot hold the documents.

    from corpusdb import spark

    done = spark.dedup(df, {"profile": "web"}, order="number", checkpoint="s3://bucket/run-1")
    df.join(done.rows.where("standing = 'kept'").select("order"), df.number == done.rows.order)

It uses only DataFrames, with or without Spark Connect, and is tested on Spark 4.3 and on Sail 0.7. The program needs
pyspark (or pyspark-client) and pyarrow; its tasks also need this package.
"""

from __future__ import annotations

try:
    import pyarrow as _pyarrow  # noqa: F401
    import pyspark as _pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"corpusdb.spark needs {error.name}, which is not installed: pip install pyspark pyarrow "
        "(or pyspark-client, and pysail for a server without Java)"
    ) from error

from corpusdb.spark._against import Compared, against
from corpusdb.spark._dedup import Deduplicated, dedup
from corpusdb.spark._doctor import Finding, doctor
from corpusdb.spark._encode import encode
from corpusdb.spark._load import write_load
from corpusdb.spark._stages import Stage

__all__ = ["Compared", "Deduplicated", "Finding", "Stage", "against", "dedup", "doctor", "encode", "write_load"]
