"""Suites of evaluation items, and the evidence of their items in a corpus."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Unpack, overload

from corpusdb import _native
from corpusdb._call import call, expand_keywords, keyword_json
from corpusdb._document import document_id
from corpusdb._native import one_line
from corpusdb._options import (
    ContaminationAddOptions,
    ContaminationCheckOptions,
    ContaminationReportOptions,
    ContaminationReviewOptions,
    ContaminationShowOptions,
)
from corpusdb._progress import ProgressOption
from corpusdb._reader import Readable
from corpusdb._report import html_of_all
from corpusdb.errors import CorpusError
from corpusdb.reports import (
    CheckedText,
    Evidence,
    JudgeReport,
    ReviewPair,
    Suite,
    SuiteContamination,
    SuiteDropReport,
    SuiteReport,
)

__all__ = ["Contamination", "Judgement", "WriterContamination"]

Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

#: A suite, the id of an item, the id of a document, and the verdict: `"accepted"`, `"rejected"`, or None to delete it.
Judgement = tuple[str, str, int, str | None]


class Contamination(Readable):
    """The suites of a corpus, and the evidence of their items in its texts.

    A document counts as contaminated from the thresholds `score` and `tokens` on: by default 0.3 and 10 tokens.
    """

    #: What to call next: the last line of `repr`.
    _next = "next: .report(), .show(name), .review(name), .check(texts)"

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    @expand_keywords(ContaminationReportOptions)
    def report(
        self, name: str | None = None, **options: Unpack[ContaminationReportOptions]
    ) -> list[SuiteContamination]:
        """How much of each suite, or of the named one, is in the corpus, with the worst examples."""
        return SuiteContamination.each(call("contamination report", self._handle, name=name, **options))

    @overload
    def show(self, what: None = None) -> list[Suite]: ...
    @overload
    def show(self, what: str | int, **options: Unpack[ContaminationShowOptions]) -> list[Evidence]: ...
    @expand_keywords(ContaminationShowOptions)
    def show(
        self, what: str | int | None = None, **options: Unpack[ContaminationShowOptions]
    ) -> list[Suite] | list[Evidence]:
        """The suites, by name; or the evidence of a suite (by name) or a document (by id), with the matching parts.

        Evidence comes worst first.
        """
        if what is None:
            return Suite.each(call("contamination show", self._handle))
        named = what if isinstance(what, str) else f"id:{document_id(what)}"
        return Evidence.each(call("contamination show", self._handle, what=named, **options))

    @expand_keywords(ContaminationReviewOptions)
    def review(
        self, name: str | None = None, **options: Unpack[ContaminationReviewOptions]
    ) -> list[ReviewPair]:
        """Pairs of an item and a kept document with evidence of it, side by side, worst first, for a person to judge.
        """
        return ReviewPair.each(_native.review(self._handle, name, keyword_json(**options)))

    @expand_keywords(ContaminationCheckOptions)
    def check(
        self, files: Files, *, progress: ProgressOption = None, **options: Unpack[ContaminationCheckOptions]
    ) -> list[CheckedText]:
        """Searches the texts of files for items of the suites. Returns the texts with evidence; nothing is stored."""
        return CheckedText.each(
            call("contamination check", self._handle, progress=progress, files=_paths(files), **options)
        )

    def __repr__(self) -> str:
        kind = f"corpusdb.{type(self).__name__}"
        try:
            names = [suite.suite for suite in self.show()]
        except CorpusError as error:
            return f"<{kind}: {type(error).__name__.lower()}>"
        suites = one_line(", ".join(names)) or "no suites; add one with .add(name, files) of a writer"
        return f"<{kind}: {suites}>\n  {self._next}"

    def _repr_html_(self) -> str:
        return html_of_all(self, self.show, "suites; add one with .add(name, files) of a writer", self._next)


class WriterContamination(Contamination):
    """The suites of a corpus that is open for writing."""

    @expand_keywords(ContaminationAddOptions)
    def add(
        self, name: str, files: Files, *, progress: ProgressOption = None, **options: Unpack[ContaminationAddOptions]
    ) -> SuiteReport:
        """Stores a suite and searches every stored text for its items. From then on every ingest searches, too.

        The files are JSON lines, Parquet or CSV. The layouts of GSM8K, HumanEval and MMLU are recognised. After an
        interrupt the same call continues.
        """
        return SuiteReport.from_json(call(
            "contamination add", self._handle, progress=progress, name=name, files=_paths(files), **options
        ))

    def judge(self, *judgements: Judgement) -> JudgeReport:
        """Stores verdicts about pairs of an item and a document: all of them, or none after an error.

        A verdict belongs to the text, so it holds for every document with this text. Rejected pairs never count as
        contaminated.
        """
        return JudgeReport.from_json(_native.judge(self._handle, [*judgements]))

    def drop(self, name: str) -> SuiteDropReport:
        """Drops a suite with its evidence and its verdicts."""
        return SuiteDropReport.from_json(call("contamination drop", self._handle, name=name))


def _paths(files: Files) -> list[str]:
    given = [files] if isinstance(files, (str, os.PathLike)) else files
    return [os.fspath(path) for path in given]
