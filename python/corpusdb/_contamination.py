"""Suites of evaluation items, and what of them is in a corpus."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Unpack

from corpusdb import _native
from corpusdb._call import call, expand_keywords, keyword_json
from corpusdb._native import one_line
from corpusdb._options import (
    ContaminationAddOptions,
    ContaminationCheckOptions,
    ContaminationReportOptions,
    ContaminationReviewOptions,
    ContaminationShowOptions,
)
from corpusdb._progress import ProgressOption
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

#: A suite, the id of an item, a document, and `"accepted"`, `"rejected"`, or `None` to take a verdict back.
Judgement = tuple[str, str, int, str | None]


class Contamination:
    """The suites of a corpus, and what of them is in it.

    `score` and `tokens` say from where on a document counts as contaminated: by default a score of 0.3, and 10 tokens.
    """

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    @expand_keywords(ContaminationReportOptions)
    def report(
        self, name: str | None = None, **options: Unpack[ContaminationReportOptions]
    ) -> list[SuiteContamination]:
        """How much of each suite, or of the one named, is in the corpus, with the worst examples."""
        return SuiteContamination.each(call("contamination report", self._handle, name=name, **options))

    @expand_keywords(ContaminationShowOptions)
    def show(self, what: str | int, **options: Unpack[ContaminationShowOptions]) -> list[Evidence]:
        """The evidence of a suite by its name, or of a document by its id, worst first, with what stands in the text."""
        named = what if isinstance(what, str) else f"id:{what}"
        return Evidence.each(call("contamination show", self._handle, what=named, **options))

    @expand_keywords(ContaminationReviewOptions)
    def review(
        self, name: str | None = None, **options: Unpack[ContaminationReviewOptions]
    ) -> list[ReviewPair]:
        """Pairs of an item and a kept document that has it, side by side, worst first, for somebody who is to say what they are.

        Only of pairs drawn by `sample` is the precision that `report` tells an estimate for all.
        """
        return ReviewPair.each(_native.review(self._handle, name, keyword_json(**options)))

    @expand_keywords(ContaminationCheckOptions)
    def check(
        self, files: Files, *, progress: ProgressOption = None, **options: Unpack[ContaminationCheckOptions]
    ) -> list[CheckedText]:
        """What the texts of some files have of the suites: those that have anything. Nothing is stored."""
        return CheckedText.each(
            call("contamination check", self._handle, progress=progress, files=_paths(files), **options)
        )

    def list(self) -> list[Suite]:
        """The suites, by name."""
        return Suite.each(call("contamination list", self._handle))

    def __repr__(self) -> str:
        kind = f"corpusdb.{type(self).__name__}"
        try:
            names = [suite.suite for suite in self.list()]
        except CorpusError as error:
            return f"<{kind}: {type(error).__name__.lower()}>"
        suites = one_line(", ".join(names)) or "no suite; a writer has .add(name, files)"
        return f"<{kind}: {suites}>\n  next: .report(), .show(name), .review(name), .check(texts)"


class WriterContamination(Contamination):
    """The suites of a corpus that is open for writing."""

    @expand_keywords(ContaminationAddOptions)
    def add(
        self, name: str, files: Files, *, progress: ProgressOption = None, **options: Unpack[ContaminationAddOptions]
    ) -> SuiteReport:
        """Stores a suite and searches every stored text for its items; every ingest does from then on.

        JSON lines, Parquet or CSV. The layouts of GSM8K, HumanEval and MMLU are known; `question`, `answer` and `passage`
        name other fields. The same call goes on where an interrupt stopped.
        """
        return SuiteReport.from_json(call(
            "contamination add", self._handle, progress=progress, name=name, files=_paths(files), **options
        ))

    def judge(self, *judgements: Judgement) -> JudgeReport:
        """Stores what somebody decided about pairs of an item and a document, all or nothing.

        A verdict is of the document's text, whichever documents have it. What is rejected counts as contaminated nowhere.
        """
        return JudgeReport.from_json(_native.judge(self._handle, [*judgements]))

    def drop(self, name: str) -> SuiteDropReport:
        """Forgets a suite, what stored texts have of it, and what was decided about that."""
        return SuiteDropReport.from_json(call("contamination drop", self._handle, name=name))


def _paths(files: Files) -> list[str]:
    given = [files] if isinstance(files, (str, os.PathLike)) else files
    return [os.fspath(path) for path in given]
