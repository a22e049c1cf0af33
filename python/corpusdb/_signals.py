"""The signals of a corpus: scores of texts, listed, stored, judged and given up; published thresholds as conditions."""

from __future__ import annotations

import json
from typing import Literal, Unpack

from corpusdb._call import call, expand_keywords
from corpusdb._named import Named
from corpusdb._options import SignalsReportOptions
from corpusdb._progress import ProgressOption
from corpusdb.reports import QualityReport, Signal, SignalsDropReport, SignalsReport

__all__ = ["SignalSet", "Signals", "WriterSignals", "preset"]

#: Signals that go together; "all" has compression, language and personal data too.
SignalSet = Literal["gopher", "c4", "fineweb", "all"]


def preset(name: SignalSet, *, on_text: bool = False) -> str:
    """What a published filter asks, as one condition for `where=` and recipes.

    Over the fields that `signals.add` stores; with `on_text` over the texts, for which nothing need be stored. Within a
    condition, `preset('gopher')` and `preset('gopher', 'text')` stand for the same.
    """
    condition: str = json.loads(call("signals show", set=name, on_text=on_text))["where"]
    return condition


class Signals(Named[Signal]):
    """The signals that can be stored, and what of each a corpus has."""

    _what = "signal"
    _next = "next: .report(set=...), corpusdb.preset(set), and of a writer .add(names), .drop(names)"

    def _told(self, thing: Signal) -> str:
        return f"{thing.state}, of {thing.set}: {thing.expression}"

    def list(self) -> list[Signal]:
        """All of them: the set and function of each, whether it is stored, how many documents have a value."""
        return Signal.each(call("signals list", self._handle))

    @expand_keywords(SignalsReportOptions)
    def report(
        self,
        set: SignalSet = "all",
        *,
        where: str | None = None,
        progress: ProgressOption = None,
        **options: Unpack[SignalsReportOptions],
    ) -> QualityReport:
        """What published rules would remove of the kept documents: how each score is spread by source, what each rule
        would remove alone and what no other one removes, and examples on either side of each threshold.

        Scores that are stored are read of their columns, the others are found in the texts. Nothing is removed.
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
        """Stores signals as fields: of all documents now, and of every document that comes.

        One pass over the texts, in commits of at most `batch_rows` documents; after an interrupt the same call goes on.
        What is stored already stays as it is.
        """
        return SignalsReport.from_json(call(
            "signals add", self._handle, progress=progress, signals=names, set=set, batch_rows=batch_rows,
            dry_run=dry_run,
        ))

    def drop(
        self, *names: str, set: SignalSet | None = None, force: bool = False, progress: ProgressOption = None
    ) -> SignalsDropReport:
        """Gives stored signals up; the metadata of documents stay as they are.

        Of a set, those that are stored. Refused while the recipe of a stored plan names one, unless `force`: those plans
        are in the answer, and stay as they are.
        """
        return SignalsDropReport.from_json(
            call("signals drop", self._handle, progress=progress, signals=names, set=set, force=force)
        )
