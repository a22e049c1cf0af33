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
    """Adds the column `ids` to the frame: the token ids of the texts as lists of numbers, as a corpus would store them.

    `tokenizer` is the path of a `tokenizer.json` or a SentencePiece `.model`, or its bytes, which are sent to the tasks.
    Values of other types are cast to text. The list is null for a null, and for a text that the tokenizer cannot
    encode. The texts are encoded at each reading of the frame: encode after deduplication, or write the frame first.
    `write_load(.., ids={name: column})` loads the ids, so that the machine of the corpus need not compute them.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

    from corpusdb.errors import BadInput

    if ids in df.columns:
        raise BadInput(f"the frame has a column {ids!r} already: name another one with ids=...")
    file = tokenizer if isinstance(tokenizer, bytes) else Path(tokenizer).read_bytes()
    schema = StructType([*df.schema.fields, StructField(ids, ArrayType(IntegerType()))])
    texts = df.withColumn(ids, F.col(text).cast("string"))
    return texts.mapInArrow(_tasks.encode(file, ids), schema)
