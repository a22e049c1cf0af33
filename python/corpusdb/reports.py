"""Reports: the answers of calls, with the fields that the command prints with `--json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from corpusdb import _html, _reports
from corpusdb._report import Report
from corpusdb._reports import *  # noqa: F403

__all__ = [
    "Certificate",
    "CheckReport",
    "Explanation",
    "LoaderBenchmark",
    "NothingAdded",
    "Reject",
    "RepairReport",
    "SalvageReport",
    "SimilarReport",
    "TokenizerCheckReport",
    "Verification",
    "VerifyBackupsReport",
]
__all__ += _reports.__all__


class Certificate(_reports.Certificate):
    """The result of a search for all purged data; true if nothing was found."""

    def __bool__(self) -> bool:
        return self.clean


class CheckReport(_reports.CheckReport):
    """The result of a check; true if there are no faults."""

    def __bool__(self) -> bool:
        return not self.faults


class Explanation(_reports.Explanation):
    """The contents of an epoch before it is built. It prints as `corpusdb epoch explain` does."""

    def __init__(self, fields: Mapping[str, Any], text: str) -> None:
        super().__init__(fields)
        self._text = text

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        return {name: value for name, value in super().to_dict().items() if name != "_text"}

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _inner_html(self) -> str:
        steps = f"{self.batches:,} steps" if self.batches is not None else ""
        asked = "" if self.unit == "rows" else f" of {self.budget:,} {self.unit} asked"
        full = f"{self.efficiency:.2%} full"
        figures = [f"{self.rows:,} rows of {self.capacity:,}", steps, full, f"{self.tokens:,} real tokens{asked}"]
        head = f"<b>plan {_html.line(self.plan[:12])}</b>: {', '.join(filter(None, figures))}"
        whence = f"snapshot {self.snapshot}{' (dropped)' if self.snapshot_dropped else ''}, tokenizer {self.tokenizer}"
        most = max((source.passes for source in self.sources), default=0.0)
        columns: dict[str, list[Any]] = {
            "source": [source.name for source in self.sources],
            "asked": [_percent(source.asked_share) for source in self.sources],
            "gets": [_percent(source.achieved_share) for source in self.sources],
            "of a pass": [
                _html.strip(source.passes / max(most, 1), at, of=1 / max(most, 1))
                for at, source in enumerate(self.sources)
            ],
            "passes": [_html.Amount(f"{source.passes:.3f}") for source in self.sources],
            "documents": [source.documents for source in self.sources],
            "rows": [source.rows for source in self.sources],
            "tokens": [source.epoch_tokens for source in self.sources],
            "never reached": [source.unused_tokens for source in self.sources],
            "dropped": [source.dropped_tokens for source in self.sources],
            "cut": [source.truncated_tokens + source.lone_eos + source.partial_tokens for source in self.sources],
        }
        shown = {name: values for name, values in columns.items() if any(values)}
        left = [
            [one.reason.replace("_", " "), source.name, one.documents, one.tokens]
            for source in self.sources for one in source.left_out
        ]
        parts = [
            _html.paragraph(head), _html.note(whence),
            _html.table(list(shown), zip(*shown.values(), strict=True), names=1, thousands=True),
        ]
        if left:
            heads = ["left out because of", "source", "documents", "tokens"]
            parts.append(_html.table(heads, left, names=1, thousands=True))
        if self.left_out_rows:
            parts.append(_html.note(f"{self.left_out_rows:,} rows fill no batch: {self.left_out_tokens:,} tokens"))
        parts.append(_html.folded("All that the command prints", "", _html.text(self._text)))
        return "".join(parts)


def _percent(share: float) -> _html.Amount:
    return _html.Amount(f"{share:.2%}")


class LoaderBenchmark(Report):
    """What a loader gives: measured by taking batches, but for the tokens of ranks and the loss, which need no clock."""

    steps: int
    """The steps that were taken: fewer than asked for, if the epoch has no more."""

    step_seconds: float
    """The seconds that each step of the consumer was simulated to take."""

    first_batch_seconds: float
    """Seconds until the first batch came, with opening."""

    seconds: float
    """Seconds from then on to the end of the last step."""

    tokens: int
    """Real tokens of the steps on this rank."""

    tokens_per_second: float | None
    """Real tokens of the steps behind the first one, by `seconds`. None if there was one step."""

    wait_share: float | None
    """The share of `seconds` in which the consumer waited for a batch. None if there was one step."""

    fill: float | None
    """The share of the places of the batches that are real tokens."""

    rank_tokens: list[int]
    """Real tokens of the steps on each rank, as the plan has them."""

    rank_spread: float | None
    """How many more tokens the rank with most has than the one with fewest, as a share of these: 0.05 is 5 %. None if a
    rank has none.
    """

    vocabulary: int
    """How many ids the tokenizer has."""

    expected_loss: float
    """ln of that: the loss of a model that knows nothing, from which a new one starts."""


class NothingAdded(_reports.NothingAdded):
    """The answer to an extension that would add no id; false."""

    def __bool__(self) -> bool:
        return False


class Reject(Report):
    """A record that could not be read."""

    source: str
    path: str
    #: The number of the record in the file, and its first byte in the decompressed file.
    number: int
    offset: int
    reason: str
    #: The length of the record in bytes, and its first bytes.
    bytes: int
    raw: Any


class RepairReport(_reports.RepairReport):
    """The result of a repair; true if nothing is lost and no fault remains."""

    def __bool__(self) -> bool:
        return not self.lost and not self.faults


class SalvageReport(_reports.SalvageReport):
    """What was copied from a damaged corpus; true if nothing is lost."""

    def __bool__(self) -> bool:
        return not (self.lost or self.bare or self.damage)


class SimilarReport(_reports.SimilarReport):
    """The stored documents most similar to a text. Iterate over it for the documents."""

    def __iter__(self) -> Iterator[_reports.SimilarDocument]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, at: int) -> _reports.SimilarDocument:
        return self.found[at]


class TokenizerCheckReport(_reports.TokenizerCheckReport):
    """Whether the ids of a tokenizer are right; true if they are."""

    def __bool__(self) -> bool:
        return self.good


class Verification(_reports.Verification):
    """The result of verifying a built epoch; true if every check passed."""

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def __bool__(self) -> bool:
        return self.passed


class VerifyBackupsReport(_reports.VerifyBackupsReport):
    """The result of verifying all backups of a directory; true if nothing is wrong."""

    def __bool__(self) -> bool:
        return not self.faults
