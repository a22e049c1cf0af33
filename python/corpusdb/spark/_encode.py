"""Token ids of a frame of documents, as a corpus would store them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from corpusdb.spark import _tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["encode"]


def encode(df: DataFrame, tokenizer: str | os.PathLike[str] | bytes, *, text: str = "text", ids: str = "ids") -> DataFrame:
    """The frame with a column `ids` more: the token ids of the texts, lists of numbers, as a corpus would store them.

    `tokenizer` is the path of a `tokenizer.json`, or its bytes; tasks are sent these. What is no text is cast to one. Null, and
    a text that the tokenizer refuses, have no list. The texts are encoded whenever the frame is read: encode after
    deduplication, or write the frame first. `write_load(.., ids={name: column})` loads them, so that the machine of the corpus does not make them again.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

    from corpusdb.errors import BadInput

    if ids in df.columns:
        raise BadInput(f"the frame has a column {ids!r} already: name another one, ids=...")
    file = tokenizer if isinstance(tokenizer, bytes) else Path(tokenizer).read_bytes()
    schema = StructType([*df.schema.fields, StructField(ids, ArrayType(IntegerType()))])
    texts = df.withColumn(ids, F.col(text).cast("string"))
    return texts.mapInArrow(_tasks.encode(file, ids), schema)
