"""The native half of the package: plain functions over handles. Users call the classes of `corpusdb` instead."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Batches",
    "Changes",
    "Collator",
    "Encoder",
    "Handle",
    "Origin",
    "Pairs",
    "Plan",
    "Reader",
    "RowReader",
    "RowStream",
    "Rows",
    "call",
    "check",
    "conversion_note",
    "did_you_mean",
    "diff",
    "digest",
    "drop_rejects",
    "duplicates",
    "duplicates_matrix",
    "encoder",
    "extend_plan",
    "find_key",
    "ingest",
    "is_current",
    "is_forked",
    "judge",
    "kernel_close",
    "kernel_components",
    "kernel_decide",
    "kernel_encode",
    "kernel_fingerprint",
    "kernel_length_grouped",
    "kernel_near",
    "kernel_pack",
    "kernel_similar",
    "kernel_unpad",
    "kernel_verify",
    "load_encoder",
    "main",
    "manifest_text",
    "mark_epochs",
    "notebook_style",
    "one_line",
    "pieces",
    "plan_recipe",
    "policy_json",
    "policy_words",
    "prove_purge",
    "purge",
    "refuse_forked",
    "rejects",
    "remove",
    "restore",
    "review",
    "sample",
    "select",
    "set_field",
    "show",
    "shown_tokens",
    "signature_version",
    "snapshot_changes",
    "sql",
    "standings_digest",
    "stored_plan",
    "stored_plans",
    "tokenizer_names",
    "tokens",
    "unknown_name",
    "version",
    "wait_for_reads",
]

_Tally: TypeAlias = tuple[int, int, int, int, int]
_Listener: TypeAlias = Callable[[str, int, int | None, _Tally | None, list[str]], object]
_DrawOptions: TypeAlias = tuple[int | None, float | None, float | None]
_Values: TypeAlias = Sequence[Any] | Mapping[str, Any] | None
_Pair: TypeAlias = tuple[int, str, str, int, str, str, str, float, float, float]
_Changed: TypeAlias = tuple[int, str, str, str, str | None, int | None, str | None, int | None]

@final
class Handle:
    """An open corpus. `corpusdb.Corpus` and `corpusdb.Writer` wrap it."""

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        write: bool,
        memory: int | str | None = None,
        threads: int | None = None,
        shards: Sequence[str] = ...,
    ) -> Handle: ...
    @staticmethod
    def check_options(*, memory: int | str | None = None, threads: int | None = None) -> None:
        """Raises an error for options that no corpus can be opened with."""

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""

    def close(self) -> None:
        """Closes the corpus. A second call has no effect. When a writer is closed, its unfinished iterators end."""

    def count(
        self, condition: str | None = None, values: _Values = None, snapshot: str | None = None
    ) -> int:
        """How many documents satisfy a condition; with a snapshot, only documents that it keeps are counted."""

    def counts(self) -> tuple[int, int, int]:
        """The number of the last commit, of stored documents, and of kept ones."""

@final
class Rows:
    """The answer to a statement at one commit."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    @property
    def types(self) -> list[str]:
        """The types of the columns, as Arrow names them."""

    @property
    def amounts(self) -> list[bool]:
        """For each column, whether its whole numbers are amounts, which people read with commas."""

    def read(self) -> RowReader:
        """Starts to read all rows as tuples."""

    def stream(self) -> RowStream:
        """Starts to read all rows as an Arrow stream, which keeps the error that ended it."""

    def peek(self, count: int) -> list[tuple[Any, ...]]:
        """The first `count` rows as tuples."""

    def show(self, count: int, width: int) -> tuple[str, bool, bool]:
        """The first `count` rows as a text table at most `width` characters wide, whether these are all rows, and
        whether a value is cut.
        """

    def addresses(self) -> list[list[list[int]]]:
        """The addresses of the buffers of each column of each batch that was read ahead."""

    def __arrow_c_schema__(self) -> object: ...

@final
class RowReader:
    """One reading of rows, batch by batch."""

    def next_rows(self) -> list[tuple[Any, ...]] | None:
        """The next batch of rows as tuples; None at the end."""

@final
class RowStream:
    """One reading of rows as an Arrow stream."""

    def ask_for_failure(self) -> None:
        """Announces that the caller will ask for `failure`, which then also has an interrupt."""

    def failure(self) -> BaseException | None:
        """The error that ended the stream, if any."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Pairs:
    """Removed documents with their witnesses, ascending by id."""

    def next_pairs(self, count: int) -> list[_Pair]:
        """Up to `count` more pairs; an empty list at the end."""

@final
class Changes:
    """Documents that changed from one moment to a later one, ascending by id."""

    def next_changes(self, count: int) -> list[_Changed]:
        """Up to `count` more documents; an empty list at the end."""

@final
class Encoder:
    """A tokenizer with its encoder."""

    @property
    def name(self) -> str:
        """Its name in the corpus."""

    @property
    def vocab_size(self) -> int:
        """The largest id plus one."""

    def specials(self) -> list[tuple[int, str]]:
        """The special tokens and their ids."""

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None if the vocabulary does not have it."""

    def encode(self, text: str, specials: bool, draw: _DrawOptions) -> NDArray[np.uint32]:
        """The ids of a text."""

    def nbest(self, text: str, count: int, specials: bool) -> list[tuple[NDArray[np.uint32], list[str], float, float]]:
        """The best segmentations of a text: of each the ids, the pieces, the log probability and the probability."""

    def entropy(self, text: str, alpha: float, specials: bool) -> float:
        """The entropy of all segmentations of a text, in nats."""

    def encode_batch(self, texts: Sequence[str], specials: bool, draw: _DrawOptions) -> list[NDArray[np.uint32]]:
        """The ids of many texts, on all cores."""

    def encode_with_offsets(self, text: str, specials: bool) -> tuple[NDArray[np.uint32], list[tuple[int, int]]]:
        """The ids of a text, and for each id the begin and end of its UTF-8 bytes in the text."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids. Special tokens are spelled out."""

def wait_for_reads() -> None:
    """Waits up to some seconds for reading threads that a Ctrl-C left. The interpreter calls it at exit."""

def is_forked() -> bool:
    """Whether this process was forked from one that had used this module."""

def version() -> str:
    """The release, as `corpusdb --version` prints it."""

def main(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit code. The first of `arguments` is the name of the command."""

def call(
    verb: str,
    keywords: str,
    handle: Handle | None = None,
    *,
    path: str | PathLike[str] | None = None,
    threads: int | None = None,
    listener: _Listener | None = None,
) -> tuple[str, list[str]]:
    """Calls a verb by its path. Returns its report as JSON text, and notes for people."""

def ingest(
    handle: Handle, given: object, name: str, keywords: str, dry_run: bool, listener: _Listener | None = None
) -> tuple[str, list[str]]:
    """Ingests files, the rows of an Arrow stream, or the mappings of an iterator. `name` stands for the path of data
    that is not in a file. Returns the report as JSON text, and its alarms."""

def policy_json(settings: str) -> str:
    """A complete policy as JSON, as the manifest of a load has it."""

def set_field(
    handle: Handle, given: object, name: str, keywords: str, dry_run: bool, listener: _Listener | None = None
) -> str:
    """Sets declared fields of stored documents from files, an Arrow stream, or an iterator of mappings. `name` stands
    for the path of data that is not in a file. Returns the report as JSON text."""

def review(handle: Handle, name: str | None, keywords: str) -> str:
    """Pairs of an item and a document, side by side, as a line of JSON each. `keywords` are the verb's options."""

def judge(handle: Handle, judgements: list[tuple[str, str, int, str | None]]) -> str:
    """Stores verdicts: suite, item, document, and verdict. Returns the report as JSON text."""

def sql(
    handle: Handle,
    statement: str,
    values: _Values = None,
    snapshot: str | None = None,
    files: bool = False,
) -> Rows:
    """Runs one SELECT, with the values of its parameters."""

def notebook_style() -> str: ...
def one_line(text: str) -> str:
    """A text on one line without control characters, safe to print on a terminal."""

def select(
    handle: Handle, condition: str | None = None, values: _Values = None, snapshot: str | None = None
) -> NDArray[np.uint64]:
    """The ids of the documents that satisfy a condition (and that a snapshot keeps), ascending."""

def sample(
    handle: Handle, count: int, condition: str | None, values: _Values, seed: int, snapshot: str | None = None
) -> list[int]:
    """The ids of documents drawn at random, reproducibly; with a snapshot, from those that it keeps."""

def show(handle: Handle, ids: Sequence[int]) -> list[str]:
    """Documents with all that is stored about them, each as JSON text."""

def find_key(handle: Handle, key: str) -> list[int]:
    """The ids of the documents that were ingested with a key, newest last."""

def tokens(handle: Handle, document: int, tokenizer: str | None = None) -> NDArray[np.uint32]:
    """The stored token ids of a document, from the named tokenizer or the first one."""

def shown_tokens(handle: Handle, document: int, tokenizer: str | None = None) -> str:
    """The tokens of a document with their texts and their weights in the loss, as JSON text."""

def did_you_mean(name: str, known: list[str]) -> str | None:
    """The known name that was most likely meant, as a question."""

def unknown_name(what: str, name: str, known: list[str]) -> str:
    """That nothing has a name, with the way out."""

def refuse_forked() -> None:
    """Raises `corpusdb.Forked` in a process that was forked from one that had used this module."""

def is_current(handle: Handle) -> bool:
    """Whether nothing was committed since the corpus was opened, and its folder still stands at its path."""

def rejects(handle: Handle, limit: int) -> tuple[list[dict[str, Any]], int]:
    """The first `limit` rejects, and the number of all rejects."""

def duplicates(handle: Handle, document: int | None = None, source: str | None = None) -> Pairs:
    """All duplicates, those of one document, or those removed from a source."""

def duplicates_matrix(handle: Handle, by: list[str], source: str | None = None) -> Rows:
    """How many documents of each group were removed, by the group of their witnesses. A row is a pair of groups."""

def diff(handle: Handle, a: int, b: int) -> str:
    """Compares the texts of two documents word by word; the parts as JSON text."""

def check(handle: Handle, depth: str, listener: _Listener | None = None) -> str:
    """Checks the corpus. Returns the faults as JSON text. `depth` is `quick`, `full` or `deep`."""

def digest(handle: Handle, listener: _Listener | None = None) -> str:
    """One hash over the content of the corpus."""

def conversion_note(path: str) -> str | None:
    """What opening a corpus for writing does to its store format; None where that is the format of this release."""

def snapshot_changes(handle: Handle, earlier: str, later: str | None = None) -> Changes:
    """The documents that changed from a snapshot to a later one, or to now."""

def remove(
    handle: Handle,
    documents: Sequence[int],
    keywords: str,
    condition: str | None,
    dry_run: bool,
    listener: _Listener | None = None,
) -> str:
    """Removes the documents, or those of the condition. Returns the report as JSON text."""

def purge(
    handle: Handle,
    documents: Sequence[int],
    keys: Sequence[str],
    keywords: str,
    condition: str | None,
    switches: tuple[bool, bool, bool],
    listener: _Listener | None = None,
) -> str:
    """Erases documents by id and by key, or those of the condition. Returns the report as JSON text."""

def prove_purge(handle: Handle, file: str | None, time: int, listener: _Listener | None = None) -> str:
    """Searches every row and file for all purged data, and writes the certificate. Returns it as JSON text."""

def drop_rejects(handle: Handle, keywords: str, dry_run: bool, listener: _Listener | None = None) -> str:
    """Drops rejects: all, or those of the source or files of the keywords. Returns the report as JSON text."""

def restore(
    handle: Handle,
    documents: Sequence[int],
    condition: str | None,
    dry_run: bool,
    listener: _Listener | None = None,
) -> str:
    """Undoes removals of the documents, or of those of the condition. Returns the report as JSON text."""

def encoder(handle: Handle, name: str | None = None) -> Encoder:
    """The named tokenizer, or the first one."""

def pieces(handle: Handle, name: str | None, text: str, specials: bool, draw: _DrawOptions) -> str:
    """The tokens of a text, each with its piece of the text, as JSON text."""

def tokenizer_names(handle: Handle) -> list[str]:
    """The names of the tokenizers, in the order in which they were registered."""

@final
class Plan:
    @property
    def number(self) -> int | None: ...
    @property
    def hash(self) -> str: ...
    @property
    def epochs(self) -> int: ...
    @property
    def json(self) -> str: ...
    @property
    def recipe(self) -> str: ...
    @property
    def snapshot(self) -> str: ...
    def removed(self, handle: Handle) -> int: ...
    def explain(
        self, handle: Handle, *, steps: int | None = None, sweep: bool = False
    ) -> tuple[str, str]: ...
    def build(
        self,
        handle: Handle,
        out: str | PathLike[str],
        *,
        epoch: int,
        record: bool = True,
        threads: int | None = None,
        listener: _Listener | None = None,
    ) -> tuple[str, str | None]: ...
    def verify(
        self, handle: Handle, directory: str | PathLike[str], *, listener: _Listener | None = None
    ) -> str: ...

def plan_recipe(
    handle: Handle, recipe: str, *, epochs: int | None = None, listener: _Listener | None = None
) -> Plan: ...
def mark_epochs(handle: Handle, number: int, *, epochs: int, listener: _Listener | None = None) -> int: ...
def stored_plan(handle: Handle, number: int) -> Plan: ...
def stored_plans(handle: Handle) -> list[tuple[int, str, str]]: ...
def extend_plan(
    handle: Handle,
    number: int,
    *,
    consumed: int,
    epoch: int,
    recipe: str | None = None,
    listener: _Listener | None = None,
) -> Plan: ...
def manifest_text(directory: str | PathLike[str]) -> str: ...
@final
class Reader:
    def __new__(
        cls,
        path: str | PathLike[str],
        hash: str,
        *,
        plan: Plan | None = None,
        memory: int,
        threads: int,
        shards: Sequence[str] = ...,
        files: Sequence[str] = ...,
    ) -> Reader: ...
    def share(self) -> Reader: ...
    def check(self, epoch: int, request: dict[str, Any], files: Sequence[str]) -> None: ...
    def epochs(self) -> int: ...
    def batches_of_step(self, epoch: int, world: int, rows: int) -> int: ...
    def counts(self, epoch: int) -> tuple[int, int]: ...
    def steps(self, epoch: int, from_batch: int, request: dict[str, Any]) -> int: ...
    def rows_left_out(self, epoch: int, from_batch: int, request: dict[str, Any]) -> int: ...
    def rank_tokens(self, epoch: int, from_batch: int, steps: int, request: dict[str, Any]) -> list[int]: ...
    def vocabulary(self) -> int: ...
    def start(
        self,
        epoch: int,
        from_batch: int,
        request: dict[str, Any],
        *,
        prefetch: int,
        skip: int = 0,
        stride: int = 1,
        record: bool = False,
    ) -> Batches: ...
    def rows(
        self, epoch: int, numbers: Sequence[int], views: Sequence[str] | None, flat: bool, kind: str
    ) -> list[tuple[Any, ...]]: ...
    def texts(self, epoch: int, numbers: Sequence[int]) -> tuple[list[str], str]: ...
    def glance(self, epoch: int, numbers: Sequence[int]) -> str: ...
    def sources(self) -> list[str]: ...
    def keys(self, documents: Sequence[int]) -> list[str]: ...
    def close(self) -> None: ...
@final
class Origin:
    def tell(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
@final
class Collator:
    def __new__(cls, manifest: str, contract: str) -> Collator: ...
    def batch(self, rows: Sequence[dict[str, NDArray[Any] | None]]) -> dict[str, Any]: ...
@final
class Batches:
    def next(self) -> tuple[Any, ...] | None: ...
    def stop(self) -> None: ...

def kernel_fingerprint(
    batches: Any,
    settings: str,
    *,
    text: str,
    key: str | None = None,
    source: str | None = None,
    order: str | None = None,
    number: str | None = None,
) -> Any: ...
def kernel_close(batches: Any, settings: str) -> Any: ...
def kernel_near(batches: Any, settings: str, most: int) -> Any: ...
def kernel_similar(batches: Any, settings: str, most: int) -> Any: ...
def standings_digest(documents: Any) -> int: ...
def kernel_verify(batches: Any, settings: str) -> Any: ...
def kernel_components(batches: Any) -> Any: ...
def kernel_decide(members: Any, edges: Any, settings: str) -> Any: ...
def kernel_encode(batches: Any, encoder: Encoder, text: str) -> Any: ...
def kernel_length_grouped(
    lengths: NDArray[np.int64], batch_size: int, mega_batch_mult: int | None, seed: int, state: bytes | None = None
) -> tuple[list[int], bytes | None]: ...
def kernel_pack(lengths: NDArray[np.int64], recipe: str) -> list[NDArray[np.int64]]: ...
def kernel_unpad(
    mask: NDArray[np.uint8] | NDArray[np.int64] | NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int32], int, NDArray[np.int64], NDArray[np.int64]]: ...
def load_encoder(file: bytes) -> Encoder: ...
def policy_words(settings: str) -> tuple[str, str, str]: ...
def signature_version() -> int: ...
