"""Stages of a job, each kept as Parquet: what was done is not done again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Stage", "Stages"]


@dataclass(frozen=True)
class Stage:
    """A stage of a job."""

    #: What was made.
    name: str
    #: How many rows of it.
    rows: int
    #: Whether an earlier run had made it.
    resumed: bool


class Stages:
    """The stages below one directory. A stage counts as done when the row that says so is written, behind its rows."""

    def __init__(self, spark: SparkSession, directory: str, settings: dict[str, Any]) -> None:
        self.spark = spark
        self.done: list[Stage] = []
        self._directory = directory.rstrip("/")
        self._settings = json.dumps(settings, sort_keys=True)

    def keep(self, name: str, schema: str, make: Callable[[], DataFrame]) -> DataFrame:
        """The rows of a stage: read if they were made before, else made and written."""
        path = f"{self._directory}/{name}"
        rows = self._rows(name)
        if rows is None:
            make().write.mode("overwrite").parquet(path)
            rows = self._read(path, schema).count()
            note = self.spark.createDataFrame([(rows, self._settings)], "rows long, settings string")
            note.coalesce(1).write.mode("overwrite").parquet(f"{path}.done")
            self.done.append(Stage(name, rows, False))
        else:
            self.done.append(Stage(name, rows, True))
        if rows == 0:
            return self.spark.createDataFrame([], schema)
        return self._read(path, schema)

    @property
    def rows(self) -> int:
        """Rows of the last stage."""
        return self.done[-1].rows

    def _read(self, path: str, schema: str) -> DataFrame:
        return self.spark.read.schema(schema).parquet(path)

    def _rows(self, name: str) -> int | None:
        """How many rows an earlier run made; none when it did not end."""
        from pyspark.errors import AnalysisException

        from corpusdb.errors import WrongState

        try:
            noted = self.spark.read.schema("rows long, settings string").parquet(f"{self._directory}/{name}.done").collect()
        except AnalysisException:
            return None
        if not noted:
            return None
        if noted[0]["settings"] != self._settings:
            raise WrongState(
                f"{self._directory} holds stages of a job with other settings ({noted[0]['settings']}, not {self._settings}): "
                "give another checkpoint, or remove it"
            )
        return int(noted[0]["rows"])
