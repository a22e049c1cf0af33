"""Signals (scores of texts): list, store, report and drop them; published filters as SQL conditions."""

from __future__ import annotations

import json
from typing import Literal, Unpack

from corpusdb._call import call, expand_keywords
from corpusdb._named import Named
from corpusdb._options import SignalsReportOptions
from corpusdb._progress import ProgressOption
from corpusdb.reports import QualityReport, Signal, SignalsDropReport, SignalsReport

__all__ = ["SignalSet", "Signals", "WriterSignals", "preset"]

#: A set of signals. "all" has all sets, with compression, language and personal data.
SignalSet = Literal["gopher", "c4", "fineweb", "all"]


def preset(name: SignalSet, *, on_text: bool = False) -> str:
    """A published filter as one SQL condition for `where=` and recipes.

    The condition uses the fields that `signals.add` stores; with `on_text` it computes them from the texts, and needs
    no stored field. Within a condition you may write `preset('gopher')` or `preset('gopher', 'text')` instead.
    """
    condition: str = json.loads(call("signals show", set=name, on_text=on_text))["where"]
    return condition


class Signals(Named[Signal]):
    """The signals that can be stored, and which of them the corpus has."""

    _what = "signal"
    _next = "next: .report(set=...), corpusdb.preset(set); of a writer: .add(names), .drop(names)"

    def _told(self, thing: Signal) -> str:
        return f"{thing.state}, of {thing.set}: {thing.expression}"

    def show(self) -> list[Signal]:
        """All signals: set, function, whether it is stored, and the number of documents with a value."""
        return self._all()

    def _all(self) -> list[Signal]:
        return Signal.each(call("signals show", self._handle))

    @expand_keywords(SignalsReportOptions)
    def report(
        self,
        set: SignalSet = "all",
        *,
        where: str | None = None,
        progress: ProgressOption = None,
        **options: Unpack[SignalsReportOptions],
    ) -> QualityReport:
        """Measures which kept documents the published rules would remove.

        It has the quantiles of each score by source, the documents that each rule removes, those that only this rule
        removes, and examples on both sides of each threshold. Stored scores are read from their columns, others are
        computed from the texts. Nothing is removed.
        """
        return QualityReport.from_json(
            call("signals report", self._handle, progress=progress, set=set, where=where, **options)
        )


class WriterSignals(Signals):
    """The signals of a corpus that is open for writing."""

    def add(
        self,
        *names: str,
        set: SignalSet | None = None,
        batch_rows: int | None = None,
        dry_run: bool = False,
        progress: ProgressOption = None,
    ) -> SignalsReport:
        """Stores signals as fields, for all stored documents and for every later one.

        It makes one pass over the texts, in commits of at most `batch_rows` documents. After an interrupt the same call
        continues. Signals that are stored already are unchanged.
        """
        return SignalsReport.from_json(call(
            "signals add", self._handle, progress=progress, signals=names, set=set, batch_rows=batch_rows,
            dry_run=dry_run,
        ))

    def drop(
        self, *names: str, set: SignalSet | None = None, force: bool = False, progress: ProgressOption = None
    ) -> SignalsDropReport:
        """Drops stored signals, by name or all stored ones of a set. The metadata of documents are unchanged.

        Raises an error while the recipe of a stored plan uses one of them, unless `force` is set. Such plans are
        unchanged and listed in the answer.
        """
        return SignalsDropReport.from_json(
            call("signals drop", self._handle, progress=progress, signals=names, set=set, force=force)
        )
