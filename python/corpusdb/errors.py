"""What can go wrong: one tree of exceptions, with the words of the command."""

from __future__ import annotations

__all__ = [
    "AlreadyExists", "BadInput", "BadName", "BadPolicy", "BadQuery", "BadRecipe", "BadTokenizer", "Closed",
    "CorpusError", "Corrupt", "Forked", "Infeasible", "KeyNotFound", "Locked", "NotFound", "OutOfRange", "ReadOnly",
    "Stale", "WrongFormat", "WrongState",
]


class CorpusError(Exception):
    """Any error of a corpus. Its message says what, where, and the way out."""


class NotFound(CorpusError, LookupError):
    """A corpus, document, source, tokenizer, snapshot, plan or file that there is not."""


class KeyNotFound(NotFound, KeyError):
    """No stored document has that key."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class OutOfRange(CorpusError, IndexError):
    """A row, batch, rank or epoch beyond the last."""


class AlreadyExists(CorpusError, FileExistsError):
    """A directory to be made that holds something."""


class Locked(CorpusError):
    """Another process, or another handle of this one, writes the corpus."""

    def __init__(self, message: str, *, holder: str = "") -> None:
        super().__init__(message)
        #: Who holds the lock, as it says itself.
        self.holder = holder


class BadInput(CorpusError, ValueError):
    """An input that cannot be read, or a record of it that cannot be ingested."""

    def __init__(
        self, message: str, *, file: str | None = None, record: int | None = None, byte: int | None = None
    ) -> None:
        super().__init__(message)
        #: The file, or the name that records of a program were given.
        self.file = file
        #: Number of the record in it, from 0.
        self.record = record
        #: Its first byte, in the file as decompressed; of a damaged file, the byte as stored.
        self.byte = byte

    @property
    def line(self) -> int | None:
        """The line of the record in its file, from 1; none for what has no lines or cannot be read again."""
        from corpusdb._lines import line_of

        return None if self.file is None or self.byte is None else line_of(self.file, self.byte)


class BadQuery(CorpusError, ValueError):
    """A statement or condition that cannot be run."""


class BadPolicy(CorpusError, ValueError):
    """Settings of dedup that do not go together, or that this corpus cannot go over to."""


class BadName(CorpusError, ValueError):
    """A name that is taken, unknown or malformed."""


class BadRecipe(CorpusError, ValueError):
    """A recipe that contradicts itself, or asks for what its format cannot hold."""


class BadTokenizer(CorpusError, ValueError):
    """A tokenizer's file, text or training that cannot be used."""


class Infeasible(CorpusError):
    """An epoch that the corpus cannot give: too few documents or passes, or none that are encoded."""


class Corrupt(CorpusError):
    """Bytes of the store that no release wrote, or commits that are lost."""


class WrongFormat(CorpusError):
    """A store of a newer release, or one to be migrated first."""


class Stale(CorpusError):
    """A plan that does not fit the corpus any more."""


class WrongState(CorpusError, ValueError):
    """A loader's state that is of another plan, or of none."""


class Closed(CorpusError, ValueError):
    """A handle that was closed."""


class ReadOnly(CorpusError, TypeError):
    """Writing through a handle that reads."""


class Forked(CorpusError, RuntimeError):
    """A handle that was opened before a fork: open the corpus again in the child, or use spawn."""
