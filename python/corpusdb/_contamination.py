"""Suites of evaluation items, and what of them is in a corpus."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from corpusdb import _native
from corpusdb._native import one_line
from corpusdb._progress import ProgressOption, listening
from corpusdb._report import Report
from corpusdb.errors import CorpusError

__all__ = ["CheckedText", "Contamination", "Evidence", "JudgeReport", "Judgement", "ReviewPair", "ReviewPart", "Suite", "SuiteContamination", "SuiteReport", "WriterContamination"]

Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Evidence(Report):
    """How much of a part of an item of a suite stands in a document."""

    _absent = {"quotes": []}

    #: The document; `None` for a text that is not stored.
    document: int | None
    suite: str
    item: str
    #: `question`, `answer` or `passage`.
    part: str
    #: The weighted share of the part that stands there, 0 to 1; tokens of it; the longest run of them.
    score: float
    tokens: int
    longest_run: int
    #: N-grams of the part that stand there, of how many.
    matched: int
    grams: int
    #: Whether the item says no answer.
    weak: bool
    #: What somebody decided about the item and the text: `accepted` or `rejected`.
    verdict: str | None
    #: Whether it is enough by the thresholds asked for, and was not rejected.
    contaminated: bool
    #: The bytes of the text, and what stands at them.
    spans: list[list[int]]
    quotes: list[str]


class Suite(Report):
    """A stored suite."""

    suite: str
    items: int
    #: Items without an answer, and those too short to be looked for.
    weak: int
    unsearchable: int
    grams: int
    #: Whether all stored texts were searched for it; else how many were.
    complete: bool
    searched: int
    hash: str
    files: list[str]


class SuiteContamination(Report):
    """How much of a suite is in a corpus."""

    _classes = {"worst": Evidence}

    suite: str
    items: int
    contaminated_items: int
    weak_items: int
    #: Kept documents that have an item, and those that are not kept.
    documents: int
    removed_documents: int
    sighted_documents: int
    #: N-grams that very many documents have: they count for nothing.
    common: int
    sources: list[Report]
    #: How often the thresholds are right, by the verdicts: `accepted`, `rejected`, `estimate`, `low` and `high` (Wilson, 95 %).
    precision: Report | None
    worst: list[Evidence]


class SuiteReport(Report):
    """What became of a suite that was added."""

    suite: str
    items: int
    weak: int
    unsearchable: int
    grams: int
    #: Documents that were searched now, and those of them that have something of it.
    searched: int
    sighted: int
    commits: int


class ReviewPart(Report):
    """A part of an item beside what a document has of it."""

    #: `question`, `answer` or `passage`.
    part: str
    score: float
    tokens: int
    longest_run: int
    #: Whether this is enough by the thresholds.
    enough: bool
    #: Pieces of the part and of the document: `from` (byte), `text`, `marks` (bytes of `text`), and whether there is `more`.
    asked: list[Report]
    found: list[Report]


class ReviewPair(Report):
    """An item, and a document that has it by a rule."""

    _classes = {"parts": ReviewPart}

    suite: str
    item: str
    #: The document, of several with the same text the first; its key or file, and its source.
    document: int
    key: str
    source: str
    score: float
    weak: bool
    #: `accepted`, `rejected`, or `None`.
    verdict: str | None
    parts: list[ReviewPart]


class JudgeReport(Report):
    """What became of verdicts."""

    accepted: int
    rejected: int
    #: Verdicts that were taken back.
    withdrawn: int
    #: Of all these, those that were so before.
    unchanged: int


#: A suite, the id of an item, a document, and `"accepted"`, `"rejected"`, or `None` to take a verdict back.
Judgement = tuple[str, str, int, str | None]


class CheckedText(Report):
    """What a text that is not stored has of the suites."""

    _classes = {"evidence": Evidence}

    #: Its key, or its file and number.
    text: str
    contaminated: bool
    evidence: list[Evidence]


class Contamination:
    """The suites of a corpus, and what of them is in it.

    `score` and `tokens` say from where on a document counts as contaminated: by default a score of 0.3, and 10 tokens.
    """

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    def report(
        self, name: str | None = None, *, score: float | None = None, tokens: int | None = None, limit: int = 5
    ) -> list[SuiteContamination]:
        """How much of each suite, or of the one named, is in the corpus, with the worst examples."""
        told = _native.contamination(self._handle, name, _thresholds(score, tokens), limit)
        return [SuiteContamination(one) for one in json.loads(told)]

    def show(
        self, what: str | int, *, score: float | None = None, tokens: int | None = None, limit: int = 10
    ) -> list[Evidence]:
        """The evidence of a suite by its name, or of a document by its id, worst first, with what stands in the text."""
        asked = _thresholds(score, tokens)
        if isinstance(what, str):
            told = _native.suite_evidence(self._handle, what, asked, limit)
        else:
            told = _native.document_evidence(self._handle, what, asked)
        return [Evidence(one) for one in json.loads(told)]

    def review(
        self,
        name: str | None = None,
        *,
        score: float | None = None,
        tokens: int | None = None,
        limit: int = 10,
        judged: bool = False,
        sample: int | None = None,
    ) -> list[ReviewPair]:
        """Pairs of an item and a kept document that has it, side by side, worst first, for somebody who is to say what they are.

        `judged` shows those that have a verdict too, `sample` draws pairs by chance with that seed: only of such is the
        precision that `report` tells an estimate for all.
        """
        told = _native.review(self._handle, name, _thresholds(score, tokens), limit, (judged, sample))
        return [ReviewPair(one) for one in json.loads(told)]

    def check(
        self,
        files: Files,
        *,
        text_field: str | None = None,
        id_field: str | None = None,
        score: float | None = None,
        tokens: int | None = None,
        progress: ProgressOption = None,
    ) -> list[CheckedText]:
        """What the texts of some files have of the suites: those that have anything. Nothing is stored."""
        fields = (text_field, id_field)
        with listening(progress) as listener:
            told = _native.check_contamination(
                self._handle, _paths(files), fields, _thresholds(score, tokens), listener
            )
        return [CheckedText(one) for one in json.loads(told)]

    def list(self) -> list[Suite]:
        """The suites, by name."""
        return [Suite(suite) for suite in json.loads(_native.suites(self._handle))]

    def __repr__(self) -> str:
        kind = f"corpusdb.{type(self).__name__}"
        try:
            names = [suite.name for suite in self.list()]
        except CorpusError as error:
            return f"<{kind}: {type(error).__name__.lower()}>"
        suites = one_line(", ".join(names)) or "no suite; a writer has .add(name, files)"
        return f"<{kind}: {suites}>\n  next: .report(), .show(name), .review(name), .check(texts)"


class WriterContamination(Contamination):
    """The suites of a corpus that is open for writing."""

    def add(
        self,
        name: str,
        files: Files,
        *,
        question: str | None = None,
        answer: str | None = None,
        passage: str | None = None,
        progress: ProgressOption = None,
    ) -> SuiteReport:
        """Stores a suite and searches every stored text for its items; every ingest does from then on.

        JSON lines, Parquet or CSV. The layouts of GSM8K, HumanEval and MMLU are known; `question`, `answer` and `passage`
        name other fields. The same call goes on where an interrupt stopped.
        """
        fields = (question, answer, passage)
        with listening(progress) as listener:
            return SuiteReport.from_json(_native.add_suite(self._handle, name, _paths(files), fields, listener))

    def judge(self, *judgements: Judgement) -> JudgeReport:
        """Stores what somebody decided about pairs of an item and a document, all or nothing.

        A verdict is of the document's text, whichever documents have it. What is rejected counts as contaminated nowhere.
        """
        return JudgeReport.from_json(_native.judge(self._handle, [*judgements]))

    def drop(self, name: str) -> None:
        """Forgets a suite, what stored texts have of it, and what was decided about that."""
        _native.drop_suite(self._handle, name)


def _thresholds(score: float | None, tokens: int | None) -> dict[str, Any]:
    return {"score": score, "tokens": tokens}


def _paths(files: Files) -> list[str]:
    given = [files] if isinstance(files, (str, os.PathLike)) else files
    return [os.fspath(path) for path in given]
