"""The declared fields of a corpus: list, add, set from outside, compute, drop."""

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

#: The type of a declared field: `str` or "keyword", `int` or "int", `float` or "float", `bool` or "bool", "timestamp".
FieldKind = (
    type[str] | type[int] | type[float] | type[bool] | Literal["keyword", "int", "float", "bool", "timestamp"]
)

_KINDS: dict[object, str] = {str: "keyword", int: "int", float: "float", bool: "bool"}


def kind_name(kind: FieldKind) -> str:
    """The name of a type, as the command spells it."""
    return _KINDS.get(kind) or str(kind)


class Fields(Named[Field]):
    """The declared fields of a corpus, in the order in which they were declared."""

    _what = "field"
    _next = "next: fields[\"NAME\"]; of a writer: .add(name, kind), .set(...), .compute(...), .drop(name)"

    def _told(self, thing: Field) -> str:
        return f"{thing.kind}, {thing.documents:,} documents have a value"

    def show(self) -> list[Field]:
        """All declared fields: type, number of documents with a value, and where the values come from."""
        return self._all()

    def _all(self) -> list[Field]:
        return Field.each(call("field show", self._handle))


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
        """Declares a field, and indexes its values from the metadata of the stored documents.

        The values come from the member `name` of the metadata, or from the one that `from_meta` names (dots lead into
        nested members: `"scores.quality"`). Queries see the field once the last commit is made. After an interrupt the
        same call continues. Values of another type count as null.
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

        `field` is one declared field, several (`["perplexity", "toxicity"]`), or a mapping from declared fields to
        fields of the data (`{"quality": "score"}`). `data` is what `Writer.ingest` takes: files, Arrow, or mappings.
        `id` names the field of the data that has the document's id; or `key` names the field that has its key (`source`
        restricts keys to one source). `value` names the field with the values, if only one field is set (default: the
        name of the declared field).

        If a document gets several values for one field, the last one counts. A null deletes the value, in JSON and in
        mappings, where it differs from an absent value. A value of another type is skipped and counted; with `strict`
        it ends the call. A record that is ingested again without change keeps its values; new content under its key
        does not.
        """
        given = told_apart(data)
        if isinstance(field, str):
            columns = [(field, value or field)]
        elif value is not None:
            raise TypeError("value= is for a single field; for several give a mapping: {'quality': 'score'}")
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
        expression: str | None = None,
        *,
        perplexity: str | None = None,
        order: int = 3,
        together: bool = False,
        kind: FieldKind | None = None,
        batch_rows: int = 8192,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> FieldReport:
        """Stores the values of a SQL expression over `documents`, or perplexities, as a field; declares it if it is new.

        The expression is evaluated for each document alone: it has no aggregates, windows or inner queries, and no
        function that gives another value each time. Documents that come later have no value until the field is computed
        again. `kind` is by default the type of the expression. After an interrupt the same call continues.

        `perplexity` names a tokenizer, in place of an expression: each kept document gets its perplexity under an
        n-gram model of that `order` (2 to 6; interpolated modified Kneser-Ney) of the stored ids, one model for each
        source, or one for all of them `together`. A document is one sentence, and is scored by the model that has
        counted it. `models` of the report says what was counted, and how the values are spread.
        """
        if (expression is None) == (perplexity is None):
            raise TypeError("give either an expression or perplexity='TOKENIZER'")
        return FieldReport.from_json(call(
            "field compute", self._handle, progress=progress, name=name, expression=expression, perplexity=perplexity,
            type=None if kind is None else kind_name(kind), batch_rows=batch_rows, dry_run=dry_run,
            order=None if perplexity is None else order, together=None if perplexity is None else together,
        ))

    def drop(self, name: str, *, force: bool = False, progress: ProgressOption = None) -> FieldDropReport:
        """Drops a declared field. The metadata of documents are unchanged, so `add` can declare it again.

        Raises an error while the recipe of a stored plan uses the field, unless `force` is set. Such plans are
        unchanged and listed in the answer.
        """
        return FieldDropReport.from_json(
            call("field drop", self._handle, progress=progress, name=name, force=force)
        )
