"""The declared fields of a corpus: listed, added, set from outside, computed, dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from corpusdb import _native
from corpusdb._call import call, keyword_json
from corpusdb._ingest import Input, told_apart
from corpusdb._named import Named
from corpusdb._progress import ProgressOption, listening
from corpusdb.reports import Field, FieldDropReport, FieldReport, JoinReport

__all__ = ["FieldKind", "Fields", "WriterFields", "kind_name"]

#: What a declared field holds: `str` or "keyword", `int` or "int", `float` or "float", `bool` or "bool", "timestamp".
FieldKind = (
    type[str] | type[int] | type[float] | type[bool] | Literal["keyword", "int", "float", "bool", "timestamp"]
)

_KINDS: dict[object, str] = {str: "keyword", int: "int", float: "float", bool: "bool"}


def kind_name(kind: FieldKind) -> str:
    """The name of a kind."""
    return _KINDS.get(kind) or str(kind)


class Fields(Named[Field]):
    """The declared fields of a corpus, in the order in which they were declared."""

    _what = "field"
    _next = "next: fields[\"NAME\"], and of a writer .add(name, kind), .set(...), .compute(...), .drop(name)"

    def _told(self, thing: Field) -> str:
        return f"{thing.kind}, {thing.documents:,} documents have a value"

    def list(self) -> list[Field]:
        """All of them: the type of each, how many documents have a value, and where the values are from."""
        return Field.each(call("field list", self._handle))


class WriterFields(Fields):
    """The declared fields of a corpus that is open for writing."""

    def add(
        self,
        name: str,
        kind: FieldKind,
        *,
        from_meta: str | None = None,
        batch_rows: int = 8192,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> FieldReport:
        """Declares a field of a corpus that holds documents, and indexes what their metadata have for it.

        The values are those of the member `name`, or of the member, or members within one another with dots between
        them, that `from_meta` names. No query sees the field before the last commit; after an interrupt the same call
        goes on. Values of another type count as null.
        """
        return FieldReport.from_json(call(
            "field add", self._handle, progress=progress, field={name: kind_name(kind)}, from_meta=from_meta,
            batch_rows=batch_rows, dry_run=dry_run,
        ))

    def set(
        self,
        field: str | Sequence[str] | Mapping[str, str],
        data: Input,
        *,
        id: str | None = None,
        key: str | None = None,
        source: str | None = None,
        value: str | None = None,
        name: str = "values",
        max_value_bytes: int | str = "1MiB",
        batch_rows: int = 8192,
        strict: bool = False,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> JoinReport:
        """Gives declared fields of stored documents values from outside, such as perplexities and quality scores.

        `field` is one declared field, several (`["perplexity", "toxicity"]`), or declared fields with the fields of the
        data that have their values (`{"quality": "score"}`). `data` is what `Writer.ingest` takes: files, Arrow, or
        mappings. `id` names its field with the document's id, or `key` that with the key the document was ingested with
        (`source` restricts it to one source); `value` names the one with the values of a single field (by default the
        name of the declared field). Of several values for one field of a document the last counts; a null takes a value
        away, where it can be told from no value (in JSON and in mappings). A value of another type is passed over and
        counted, or with `strict` ends the call. A record that is ingested again without change keeps the values; new
        content under its key has its own.
        """
        given = told_apart(data)
        if isinstance(field, str):
            columns = [(field, value or field)]
        elif value is not None:
            raise TypeError("value= is for a single field; give a mapping: {'quality': 'score'}")
        elif isinstance(field, Mapping):
            columns = [(declared, column) for declared, column in field.items()]
        else:
            columns = [(declared, declared) for declared in field]
        keywords = keyword_json(
            columns=dict(columns), id=id, key=key, source=source, max_value_bytes=max_value_bytes,
            batch_rows=batch_rows, strict=strict,
        )
        with listening(progress) as listener:
            return JoinReport.from_json(
                _native.set_field(self._handle, given, name, keywords, dry_run, listener)
            )

    def compute(
        self,
        name: str,
        expression: str,
        *,
        kind: FieldKind | None = None,
        batch_rows: int = 8192,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> FieldReport:
        """Stores the values of a SQL expression over `documents` as a field, declaring it when it is not.

        Each document has the value that the expression is for it alone: no aggregates, windows or inner queries, and
        nothing that differs each time. Documents that come later have none until it is computed again. `kind` is by
        default that of the expression. After an interrupt the same call goes on.
        """
        return FieldReport.from_json(call(
            "field compute", self._handle, progress=progress, name=name, expression=expression,
            type=None if kind is None else kind_name(kind), batch_rows=batch_rows, dry_run=dry_run,
        ))

    def drop(self, name: str, *, force: bool = False, progress: ProgressOption = None) -> FieldDropReport:
        """Gives a field up; the metadata of documents stay as they are. `add` brings it back.

        Refused while the recipe of a stored plan names it, unless `force`: those plans are in the answer, and stay as
        they are.
        """
        return FieldDropReport.from_json(
            call("field drop", self._handle, progress=progress, name=name, force=force)
        )
