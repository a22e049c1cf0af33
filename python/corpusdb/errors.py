"""The exceptions of the package: one tree under `CorpusError`. Their messages are those of the command."""

from __future__ import annotations

__all__ = [
    "AlreadyExists", "BadInput", "BadName", "BadPolicy", "BadQuery", "BadRecipe", "BadTokenizer", "Closed",
    "CorpusError", "Corrupt", "EpochsOver", "Forked", "Infeasible", "KeyNotFound", "Locked", "NotFound", "OutOfRange", "ReadOnly",
    "Stale", "WrongFormat", "WrongState",
]


class CorpusError(Exception):
    """Any error of a corpus. Its message says what failed, where, and what to do."""


class NotFound(CorpusError, LookupError):
    """A corpus, document, source, tokenizer, snapshot, plan or file does not exist."""


class KeyNotFound(NotFound, KeyError):
    """No stored document has the key."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class OutOfRange(CorpusError, IndexError):
    """The number of a row, batch, rank or epoch is out of range."""


class AlreadyExists(CorpusError, FileExistsError):
    """The file or directory to write exists already."""


class Locked(CorpusError):
    """Another process, or another handle of this process, has the corpus open for writing."""

    def __init__(self, message: str, *, holder: str = "") -> None:
        super().__init__(message)
        #: The writer that holds the lock, as it describes itself.
        self.holder = holder


class BadInput(CorpusError, ValueError):
    """An input or an option cannot be read, or a record cannot be ingested."""

    def __init__(
        self, message: str, *, file: str | None = None, record: int | None = None, byte: int | None = None
    ) -> None:
        super().__init__(message)
        #: The file, or the `name` of data that is not in a file.
        self.file = file
        #: The number of the record in the file, from 0.
        self.record = record
        #: The first byte of the record in the decompressed file; in a damaged file, the byte in the stored file.
        self.byte = byte

    @property
    def line(self) -> int | None:
        """The line of the record in its file, from 1; None if the input has no lines or cannot be read again."""
        from corpusdb._lines import line_of

        return None if self.file is None or self.byte is None else line_of(self.file, self.byte)


class BadQuery(CorpusError, ValueError):
    """A statement or condition cannot be run."""


class BadPolicy(CorpusError, ValueError):
    """Dedup settings cannot be combined, or this corpus cannot change to them."""


class BadName(CorpusError, ValueError):
    """A name is taken, unknown or malformed."""


class BadRecipe(CorpusError, ValueError):
    """A recipe is invalid, contradicts itself, or asks for something that its output format does not support."""


class BadTokenizer(CorpusError, ValueError):
    """A tokenizer cannot be read, trained or used on a text."""


class Infeasible(CorpusError):
    """The corpus cannot give the epoch: too few documents or passes, or no encoded documents."""


class EpochsOver(Infeasible):
    """The plan has no further epoch: its sources give no more passes, or documents."""


class Corrupt(CorpusError):
    """The store is damaged, or commits are lost."""


class WrongFormat(CorpusError):
    """The store was written by a newer release, or must be migrated first."""


class Stale(CorpusError):
    """A plan or a table does not fit the present state of the corpus."""


class WrongState(CorpusError, ValueError):
    """A state belongs to another plan or job, or is not a state."""


class Closed(CorpusError, ValueError):
    """The corpus, loader or iterator was closed."""


class ReadOnly(CorpusError, TypeError):
    """A writing call on a corpus that is open for reading."""


class Forked(CorpusError, RuntimeError):
    """The handle was opened before a fork. Open the corpus again in the child, or start workers with `spawn`."""
