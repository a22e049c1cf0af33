"""Reports: what calls answer, each with the fields that the command prints with `--json`."""

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
    """What a search for all that was ever purged came to; true when nothing of it is left."""

    def __bool__(self) -> bool:
        return self.found == 0 and not self.twins


class CheckReport(_reports.CheckReport):
    """What a check found; true when all is as it must be."""

    def __bool__(self) -> bool:
        return not self.faults


class Explanation(_reports.Explanation):
    """What an epoch will be. Printed, it is what `corpusdb epoch explain` prints."""

    def __init__(self, fields: Mapping[str, Any], text: str) -> None:
        super().__init__(fields)
        self._text = text

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        return {name: value for name, value in super().to_dict().items() if name != "_text"}

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _html.text(self._text)


class NothingAdded(_reports.NothingAdded):
    """An extension that came to nothing: false."""

    def __bool__(self) -> bool:
        return False


class Reject(Report):
    """A record that could not be read."""

    source: str
    path: str
    #: Its number in the file, and its first byte there, decompressed.
    number: int
    offset: int
    reason: str
    #: How long it is, and its first bytes.
    bytes: int
    raw: Any


class RepairReport(_reports.RepairReport):
    """What a repair came to; true when all is well now."""

    def __bool__(self) -> bool:
        return not self.lost and not self.faults


class SalvageReport(_reports.SalvageReport):
    """What of a damaged corpus was copied; true when no document is lost."""

    def __bool__(self) -> bool:
        return not self.lost


class SimilarReport(_reports.SimilarReport):
    """The stored documents most similar to a text; iterating gives them."""

    def __iter__(self) -> Iterator[_reports.SimilarDocument]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, at: int) -> _reports.SimilarDocument:
        return self.found[at]


class TokenizerCheckReport(_reports.TokenizerCheckReport):
    """Whether the ids of a tokenizer can be trusted; true when they can."""

    def __bool__(self) -> bool:
        return self.good


class Verification(_reports.Verification):
    """The verdict on a written epoch; true when every check passed."""

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def __bool__(self) -> bool:
        return self.passed


class VerifyBackupsReport(_reports.VerifyBackupsReport):
    """What reading all backups of a directory came to; true when nothing is wrong."""

    def __bool__(self) -> bool:
        return not self.faults
