"""Stages of a job, each stored as Parquet, so that finished stages are not computed again."""

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

    #: The name of the stage.
    name: str
    #: Its number of rows.
    rows: int
    #: Whether an earlier run computed it.
    resumed: bool


class Stages:
    """The stages below one directory. A stage is done once its `.done` row is written, after its rows."""

    def __init__(self, spark: SparkSession, directory: str, settings: dict[str, Any]) -> None:
        self.spark = spark
        self.done: list[Stage] = []
        self._directory = directory.rstrip("/")
        self._settings = json.dumps(settings, sort_keys=True)

    def keep(self, name: str, schema: str, make: Callable[[], DataFrame]) -> DataFrame:
        """The rows of a stage: read if an earlier run computed them, otherwise computed and written."""
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
        """The number of rows of the last stage."""
        return self.done[-1].rows

    def _read(self, path: str, schema: str) -> DataFrame:
        return self.spark.read.schema(schema).parquet(path)

    def _rows(self, name: str) -> int | None:
        """The number of rows that an earlier run computed; None if it did not finish the stage."""
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
                "use another checkpoint, or delete this one"
            )
        return int(noted[0]["rows"])
