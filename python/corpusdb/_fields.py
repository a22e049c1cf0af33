"""Values from outside for declared fields of stored documents."""

from __future__ import annotations

from corpusdb import _native
from corpusdb._ingest import Input, told_apart
from corpusdb._progress import ProgressOption, listening
from corpusdb._reports import JoinReport
from corpusdb._sizes import size

__all__ = ["Fields"]


class Fields:
    """The declared fields of a corpus that is open for writing."""

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    def set(
        self,
        field: str,
        data: Input,
        *,
        id: str | None = None,
        key: str | None = None,
        source: str | None = None,
        value: str | None = None,
        name: str = "values",
        max_value_bytes: int | str = "1MiB",
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> JoinReport:
        """Gives a declared field of stored documents values from outside, such as perplexities and quality scores.

        `data` is what `Writer.ingest` takes: files, Arrow, or mappings. `id` names its field with the document's id, or
        `key` that with the key the document was ingested with (`source` restricts it to one source); `value` names the
        one with the value (by default the name of the declared field). Of several records for one document the last
        counts; a null takes a value away, where it can be told from no value (in JSON and in mappings).
        """
        given = told_apart(data)
        settings = {
            "field": field,
            "id": id,
            "key": key,
            "source": source,
            "value": value,
            "max_value_bytes": size(max_value_bytes, "max_value_bytes"),
            "dry_run": dry_run,
        }
        with listening(progress) as listener:
            return JoinReport.from_json(_native.set_field(self._handle, given, name, settings, listener))
