"""The native half of the package: plain functions over handles. Users see what is made of it in `corpusdb`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Batches",
    "Changes",
    "Encoder",
    "Handle",
    "Origin",
    "Pairs",
    "Plan",
    "Reader",
    "RowReader",
    "RowStream",
    "Rows",
    "add_suite",
    "add_tokenizer",
    "analyse_tokenizers",
    "backfill_tokenizer",
    "call",
    "check",
    "check_contamination",
    "check_tokenizer",
    "compact",
    "contamination",
    "create",
    "create_backup",
    "diff",
    "diff_snapshots",
    "diff_tokenizers",
    "digest",
    "document_duplicates",
    "document_evidence",
    "drop_backup",
    "drop_plan",
    "drop_snapshot",
    "drop_suite",
    "drop_tokenizer",
    "duplicates",
    "duplicates_matrix",
    "duplicates_summary",
    "encoder",
    "explain_dedup",
    "extend_plan",
    "extend_tokenizer",
    "find_key",
    "ingest",
    "is_forked",
    "judge",
    "kernel_close",
    "kernel_components",
    "kernel_decide",
    "kernel_encode",
    "kernel_fingerprint",
    "kernel_near",
    "kernel_similar",
    "kernel_verify",
    "list_backups",
    "load_encoder",
    "main",
    "mark_epochs",
    "one_line",
    "pieces",
    "plan_recipe",
    "policy_json",
    "policy_words",
    "prove_purge",
    "purge",
    "redo",
    "rejects",
    "remove",
    "repair",
    "report",
    "restore",
    "restore_backup",
    "review",
    "salvage",
    "sample",
    "select",
    "set_field",
    "show",
    "shown_tokens",
    "signals_preset",
    "signals_report",
    "signature_version",
    "similar",
    "snapshot_changes",
    "sql",
    "standings_digest",
    "stored_plan",
    "stored_plans",
    "suite_evidence",
    "suites",
    "tokenizer_file",
    "tokenizer_names",
    "tokenizer_originals",
    "tokenizer_record",
    "tokens",
    "train_tokenizer",
    "unlock_backups",
    "verify_backups",
    "version",
    "wait_for_reads",
]

_Tally: TypeAlias = tuple[int, int, int, int, int]
_Listener: TypeAlias = Callable[[str, int, int | None, _Tally | None, list[str]], object]
_Settings: TypeAlias = Mapping[str, Any]
_Values: TypeAlias = Sequence[Any] | Mapping[str, Any] | None
_Pair: TypeAlias = tuple[int, str, str, int, str, str, str, float, float, float]
_Changed: TypeAlias = tuple[int, str, str, str, str | None, int | None, str | None, int | None]

@final
class Handle:
    """A corpus, opened. `corpusdb.Corpus` and `corpusdb.Writer` are made of it."""

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        write: bool,
        memory: int | None = None,
        threads: int | None = None,
        shards: Sequence[str] = ...,
    ) -> Handle: ...
    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""

    def close(self) -> None:
        """Gives everything back; again is nothing. When a writer is closed, what was handed out and not read is given
        up."""

    def count(
        self, condition: str | None = None, values: _Values = None, snapshot: str | None = None
    ) -> int:
        """Documents that satisfy a condition; of those that a snapshot keeps."""

    def counts(self) -> tuple[int, int, int]:
        """Number of the last commit, documents stored, and kept ones."""

@final
class Rows:
    """The answer to a statement, of the commit that it was asked of."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    @property
    def types(self) -> list[str]:
        """Their types, in Arrow's words."""

    def read(self) -> RowReader:
        """A reading of all rows as tuples."""

    def stream(self) -> RowStream:
        """A reading of all rows as an Arrow stream, which keeps what ended it."""

    def peek(self, count: int) -> list[tuple[Any, ...]]:
        """The first `count` rows as tuples."""

    def show(self, count: int, width: int) -> tuple[str, bool]:
        """The first `count` rows as a table of at most `width` columns of a terminal, and whether these are all."""

    def addresses(self) -> list[list[list[int]]]:
        """Of each batch that was looked at ahead and of each of its columns, the addresses of its buffers."""

    def __arrow_c_schema__(self) -> object: ...

@final
class RowReader:
    """One reading of rows, batch by batch."""

    def next_rows(self) -> list[tuple[Any, ...]] | None:
        """The next rows as tuples, a batch of them; none behind the last."""

@final
class RowStream:
    """One reading of rows, to be handed out as a stream."""

    def ask_for_failure(self) -> None:
        """Says that who takes the stream asks for its `failure`, an interrupt too."""

    def failure(self) -> BaseException | None:
        """What ended the stream, if an error did."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Pairs:
    """Removed documents beside their witnesses, ascending by id."""

    def next_pairs(self, count: int) -> list[_Pair]:
        """Up to `count` more pairs; none behind the last."""

@final
class Changes:
    """Documents that changed from one moment to a later one, ascending by id."""

    def next_changes(self, count: int) -> list[_Changed]:
        """Up to `count` more documents; none behind the last."""

@final
class Encoder:
    """A tokenizer with its encoder."""

    @property
    def name(self) -> str:
        """Its name in the corpus."""

    @property
    def vocab_size(self) -> int:
        """One more than its largest id."""

    def specials(self) -> list[tuple[int, str]]:
        """Its special tokens with their ids."""

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; none when there is no such token."""

    def encode(self, text: str, specials: bool) -> NDArray[np.uint32]:
        """The ids of a text."""

    def encode_batch(self, texts: Sequence[str], specials: bool) -> list[NDArray[np.uint32]]:
        """The ids of many texts, on all cores."""

    def encode_with_offsets(self, text: str, specials: bool) -> tuple[NDArray[np.uint32], list[tuple[int, int]]]:
        """The ids of a text with the bytes of it that each stands for."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens spelled out."""

def wait_for_reads() -> None:
    """Waits at most some seconds until no thread reads that a Ctrl-C left; called when the interpreter ends."""

def is_forked() -> bool:
    """Whether this process is a fork of one that had used this module."""

def version() -> str:
    """The release, as `corpusdb --version` says it."""

def main(arguments: Sequence[str]) -> int:
    """Runs the command with `arguments`, of which the first is its own name; its exit code."""

def call(
    verb: str,
    keywords: str,
    handle: Handle | None = None,
    *,
    path: str | PathLike[str] | None = None,
    threads: int | None = None,
    listener: _Listener | None = None,
) -> tuple[str, list[str]]:
    """Calls a verb by its path: its report as JSON text, and notes for a person."""

def create(path: str | PathLike[str], settings: str, fields: Sequence[tuple[str, str]]) -> str:
    """Makes an empty corpus; the policy in words."""

def ingest(
    handle: Handle, given: object, name: str, keywords: str, dry_run: bool, listener: _Listener | None = None
) -> tuple[str, list[str]]:
    """Ingests files, the rows of an Arrow stream, or the mappings of an iterator, which are known by `name`; the report as
    JSON text, and its alarms in words."""

def policy_json(settings: str) -> str:
    """A whole policy as JSON, as a load says it."""

def set_field(
    handle: Handle, given: object, name: str, keywords: str, dry_run: bool, listener: _Listener | None = None
) -> str:
    """Sets a declared field of stored documents from files, an Arrow stream, or an iterator of mappings, which have `name`
    in errors; the report as JSON text."""

def suites(handle: Handle) -> str:
    """The suites, as JSON text."""

def add_suite(
    handle: Handle,
    name: str,
    files: list[str],
    fields: tuple[str | None, str | None, str | None],
    listener: _Listener | None = None,
) -> str:
    """Stores a suite and searches stored texts for it; the report as JSON text."""

def drop_suite(handle: Handle, name: str) -> None:
    """Forgets a suite, and what stored texts have of it."""

def contamination(handle: Handle, name: str | None, thresholds: _Settings, limit: int) -> str:
    """How much of each suite is in the corpus, as JSON text."""

def review(
    handle: Handle, name: str | None, thresholds: _Settings, limit: int, shown: tuple[bool, int | None]
) -> str:
    """Pairs of an item and a document, side by side, as JSON text: also those that have a verdict, or drawn by chance."""

def judge(handle: Handle, judgements: list[tuple[str, str, int, str | None]]) -> str:
    """Stores what somebody decided: suite, item, document and verdict; the report as JSON text."""

def suite_evidence(handle: Handle, name: str, thresholds: _Settings, limit: int) -> str:
    """The evidence of a suite, worst first, as JSON text."""

def document_evidence(handle: Handle, document: int, thresholds: _Settings) -> str:
    """What a document has of all suites, as JSON text."""

def check_contamination(
    handle: Handle,
    files: list[str],
    fields: tuple[str | None, str | None],
    thresholds: _Settings,
    listener: _Listener | None = None,
) -> str:
    """What the texts of some files have of the suites: those with evidence, as JSON text."""

def signals_preset(set: str, on_text: bool) -> str:
    """What the published filter of a set asks, as one condition."""

def signals_report(handle: Handle, settings: _Settings, listener: _Listener | None = None) -> str:
    """What published rules would remove, as JSON text; written as a page, too, to the file that is named."""

def sql(
    handle: Handle,
    statement: str,
    values: _Values = None,
    snapshot: str | None = None,
    files: bool = False,
) -> Rows:
    """Runs one SELECT, with the values of its parameters."""

def one_line(text: str) -> str:
    """A text of strangers on one line, as a terminal shows and does not obey it."""

def select(
    handle: Handle, condition: str | None = None, values: _Values = None, snapshot: str | None = None
) -> NDArray[np.uint64]:
    """Ids of the documents that satisfy a condition, ascending; of those that a snapshot keeps."""

def sample(
    handle: Handle, count: int, condition: str | None, values: _Values, seed: int, snapshot: str | None = None
) -> list[int]:
    """Ids of documents drawn at random, reproducibly; of those that a snapshot keeps."""

def show(handle: Handle, ids: Sequence[int]) -> list[str]:
    """Everything known of documents, each as JSON text."""

def find_key(handle: Handle, key: str) -> list[int]:
    """Ids of the documents that had a key, newest last."""

def tokens(handle: Handle, document: int, tokenizer: str | None = None) -> NDArray[np.uint32]:
    """The stored token ids of a document, by a tokenizer or the first one."""

def shown_tokens(handle: Handle, document: int, tokenizer: str | None = None) -> str:
    """The tokens of a document with their texts and what they count in the loss, as JSON text."""

def report(
    handle: Handle,
    *,
    plan: int | None = None,
    texts: bool = True,
    domains: int = 50,
    html: str | PathLike[str] | None = None,
    croissant: str | PathLike[str] | None = None,
    eu_summary: str | PathLike[str] | None = None,
) -> str:
    """The corpus as a data card tells it, as JSON text; written as a page, a Croissant description (where what was filled
    in stays) and the summary for the EU to the files that are named."""

def rejects(handle: Handle, limit: int) -> tuple[list[dict[str, Any]], int]:
    """The first records that could not be read, and how many there are."""

def duplicates(handle: Handle, document: int | None = None, source: str | None = None) -> Pairs:
    """The duplicates of a corpus, of one document, or of what was removed from a source."""

def duplicates_matrix(handle: Handle, by: list[str], source: str | None = None) -> Rows:
    """How many documents of each group were removed, and which group their witnesses are in: the pairs of groups."""

def duplicates_summary(handle: Handle, largest: int, by: list[str], source: str | None = None) -> str:
    """All duplicates in numbers, as JSON text."""

def document_duplicates(handle: Handle, document: int, limit: int, diff: bool) -> str:
    """A document among its duplicates, as JSON text."""

def similar(
    handle: Handle,
    *,
    text: str | None = None,
    document: int | None = None,
    k: int,
    all: bool,
    source: str | None = None,
) -> str:
    """The stored documents most similar to a text or a document, as JSON text."""

def diff(handle: Handle, a: int, b: int) -> str:
    """The texts of two documents, word by word, as JSON text."""

def explain_dedup(settings: str, handle: Handle | None = None) -> str:
    """What a policy finds, stores and costs, as JSON text; measured in a corpus when one is given."""

def check(handle: Handle, depth: str, listener: _Listener | None = None) -> str:
    """What is not as it must be, as JSON text; `depth` is `quick`, `full` or `deep`."""

def digest(handle: Handle, listener: _Listener | None = None) -> str:
    """One hash over what the corpus means."""

def compact(handle: Handle, listener: _Listener | None = None) -> tuple[int, int]:
    """Rewrites the files into their most compact form; bytes in tables before and after."""

def repair(path: str, listener: object | None = None) -> str:
    """Makes again what is damaged and follows from other rows; the report as JSON text."""

def salvage(path: str, target: str, listener: object | None = None) -> str:
    """Copies what is whole of a damaged corpus into a new one; the report as JSON text."""

def create_backup(directory: str, corpus: str, listener: object | None = None) -> str:
    """Takes a backup of the last commit; its report as JSON text."""

def list_backups(directory: str) -> str:
    """The backups of a directory as JSON text."""

def verify_backups(directory: str, listener: object | None = None) -> str:
    """Reads every byte of all backups; the report as JSON text."""

def restore_backup(directory: str, target: str, commit: int | None = None, listener: object | None = None) -> str:
    """Makes a corpus of a backup, which is answered as JSON text."""

def drop_backup(directory: str, commit: int, listener: object | None = None) -> str:
    """Drops a backup; the report as JSON text."""

def unlock_backups(directory: str) -> int:
    """Clears the marks of killed processes in a store: how many."""

def drop_snapshot(handle: Handle, name: str, force: bool) -> str:
    """Forgets a snapshot; what it was, and the plans that draw from it, as JSON text."""

def diff_snapshots(handle: Handle, earlier: str, later: str | None = None, by: str | None = None) -> str:
    """What changed from one moment to a later one, or to now, as JSON text."""

def snapshot_changes(handle: Handle, earlier: str, later: str | None = None) -> Changes:
    """Each document that changed from one moment to a later one, or to now."""

def redo(handle: Handle, settings: str, dry_run: bool, listener: _Listener | None = None) -> str:
    """Decides every document again under another policy, and makes that current; the report as JSON text."""

def remove(
    handle: Handle,
    documents: Sequence[int],
    keywords: str,
    condition: str | None,
    dry_run: bool,
    listener: _Listener | None = None,
) -> str:
    """Removes documents; the report as JSON text."""

def purge(
    handle: Handle,
    documents: Sequence[int],
    keys: Sequence[str],
    keywords: str,
    condition: str | None,
    switches: tuple[bool, bool],
    listener: _Listener | None = None,
) -> str:
    """Erases documents, by id and by key; the report as JSON text."""

def prove_purge(handle: Handle, file: str | None, time: int, listener: _Listener | None = None) -> str:
    """Searches every row and file for all that was ever purged, and writes the certificate; what was found, as JSON text."""

def restore(handle: Handle, documents: Sequence[int], dry_run: bool, listener: _Listener | None = None) -> str:
    """Takes removals back; the report as JSON text."""

def encoder(handle: Handle, name: str | None = None) -> Encoder:
    """The tokenizer of that name, or the first."""

def pieces(handle: Handle, name: str | None, text: str, specials: bool) -> str:
    """The tokens of a text with what each stands for, as JSON text."""

def tokenizer_names(handle: Handle) -> list[str]:
    """Names of the tokenizers, in the order they were registered."""

def tokenizer_record(handle: Handle, name: str) -> str:
    """Everything known of a tokenizer, as JSON text."""

def tokenizer_file(handle: Handle, name: str, sentencepiece: bool) -> bytes:
    """The bytes of a tokenizer's `tokenizer.json`, or of it as a SentencePiece model."""

def tokenizer_originals(handle: Handle, name: str) -> list[tuple[str, bytes]]:
    """The files that a tokenizer was registered with."""

def check_tokenizer(handle: Handle, name: str) -> str:
    """Whether a tokenizer's ids can be trusted, as JSON text."""

def diff_tokenizers(handle: Handle, a: str, b: str) -> str:
    """What differs between two tokenizers, as JSON text."""

def analyse_tokenizers(
    handle: Handle,
    names: Sequence[str],
    *,
    by: str | None = None,
    reference: str | None = None,
    condition: str | None = None,
    sample_bytes: int,
    d_model: int,
    html: str | PathLike[str] | None = None,
    listener: _Listener | None = None,
) -> str:
    """What tokenizers make of the corpus, as JSON text; written as a page, too, to the file that is named."""

def add_tokenizer(
    handle: Handle,
    name: str,
    kind: str,
    bytes: bytes,
    lineage: str,
    *,
    merges: bytes | None = None,
    pattern: str | None = None,
    specials: Sequence[tuple[str, int]] = ...,
    backfill: bool = True,
    listener: _Listener | None = None,
) -> str:
    """Registers a tokenizer given as the bytes of its files, and encodes what is stored; its record as JSON text."""

def train_tokenizer(
    handle: Handle,
    name: str,
    options: str,
    *,
    pattern: str | None = None,
    condition: str | None = None,
    by: str,
    sample_bytes: int | None = None,
    backfill: bool = True,
    listener: _Listener | None = None,
) -> tuple[str, str]:
    """Trains a tokenizer, registers it and encodes what is stored; record and decisions as JSON text."""

def extend_tokenizer(
    handle: Handle,
    base: str,
    name: str,
    settings: _Settings,
    *,
    backfill: bool = True,
    listener: _Listener | None = None,
) -> tuple[str | None, str, list[tuple[str, bytes]]]:
    """Extends a tokenizer: its record (none when nothing is new), the terms as JSON text, and files."""

def backfill_tokenizer(handle: Handle, name: str, listener: _Listener | None = None) -> str:
    """Encodes what a registered tokenizer has not encoded; its record as JSON text."""

def drop_tokenizer(handle: Handle, name: str, force: bool) -> list[int]:
    """Forgets a tokenizer with all its ids; the numbers of plans that cannot be opened any more."""

@final
class Plan:
    @property
    def number(self) -> int | None: ...
    @property
    def hash(self) -> str: ...
    @property
    def json(self) -> str: ...
    @property
    def recipe(self) -> str: ...
    @property
    def snapshot(self) -> str: ...
    def removed(self, handle: Handle) -> int: ...
    def explain(self, handle: Handle) -> tuple[str, str]: ...
    def build(
        self,
        handle: Handle,
        out: str | PathLike[str],
        *,
        epoch: int,
        threads: int | None = None,
        listener: _Listener | None = None,
    ) -> str: ...
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
def drop_plan(handle: Handle, number: int) -> None: ...
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
    def counts(self, epoch: int) -> tuple[int, int]: ...
    def steps(self, epoch: int, from_batch: int, world: int) -> int: ...
    def start(
        self,
        epoch: int,
        from_batch: int,
        *,
        rank: int,
        world: int,
        uneven: bool,
        views: Sequence[str] | None,
        flat: bool,
        kind: str,
        prefetch: int,
        skip: int = 0,
        stride: int = 1,
    ) -> Batches: ...
    def rows(
        self, epoch: int, numbers: Sequence[int], views: Sequence[str] | None, flat: bool, kind: str
    ) -> list[tuple[Any, ...]]: ...
    def sources(self) -> list[str]: ...
    def keys(self, documents: Sequence[int]) -> list[str]: ...
    def close(self) -> None: ...
@final
class Origin:
    def tell(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
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
def load_encoder(file: bytes) -> Encoder: ...
def policy_words(settings: str) -> tuple[str, str, str]: ...
def signature_version() -> int: ...
