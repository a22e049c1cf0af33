"""The reports of ingest, dedup and checks, each with its fields."""

from __future__ import annotations

from collections.abc import Iterator

from corpusdb._report import Report, by_name

__all__ = [
    "Backup", "BackupFault", "BackupFile", "BackupReport", "BackupsCheck", "DroppedBackup",
    "CheckReport", "ColumnStats", "CorpusReport", "DedupExplanation", "DocumentCounts", "DocumentDuplicates", "DropRejectsReport",
    "DroppedSnapshot",
    "DuplicatesSummary", "Fault", "GroupChanges", "GroupStats", "Info", "IngestReport", "JoinReport", "LoadReport",
    "LossCounts", "LossStats", "LostDocument", "LostRows", "MisfitStats", "PurgeCertificate", "PurgeReport", "RedoReport", "Reject", "RejectStats", "RemovalReport", "RepairReport",
    "SalvageReport", "SettleReport",
    "SimilarDocument", "SimilarReport", "Snapshot", "SnapshotDetails", "SnapshotDiff", "SnapshotSource", "Stats",
]


class IngestReport(Report):
    """What became of an ingest."""

    _classes = {"files": by_name}
    _absent = {"refused": {}, "passed": {}, "purged": 0, "misfits": {}, "not_finite": 0}

    source: str
    #: Records read.
    read: int
    #: Documents stored, and those of them that are kept.
    added: int
    kept: int
    #: Why others are not.
    exact_duplicates: int
    near_duplicates: int
    empty: int
    #: Records that were stored already; of these, those that were not read again; and keys that got other content.
    unchanged: int
    unchanged_unread: int
    updated: int
    #: Records whose text or key was purged.
    purged: int
    #: Records that could not be read (`Corpus.rejects`), and those that were set aside by an earlier ingest.
    rejected: int
    rejected_before: int
    #: Rejects of earlier ingests that their files do not give any more: they are forgotten.
    rejects_settled: int
    #: Records for which the condition of the ingest was not true.
    filtered: int
    #: How many files were `seen`: `read`, `unchanged` or `left`; of these `left_files`, each with `path`, `role` and `why`.
    files: dict[str, object]
    #: HTML pages (`html`) and other contents (`other`) of web archives, which are no text.
    passed: dict[str, int]
    #: Numbers that JSON does not know (NaN, infinity) among the fields of new documents, where they are null.
    not_finite: int
    #: Tokens of kept documents by tokenizer, and documents that spell a special token.
    tokens: dict[str, int]
    special_tokens_in_text: dict[str, dict[str, int]]
    #: By tokenizer, the documents that it cannot encode.
    refused: dict[str, dict[str, object]]
    #: By declared field, values of new documents that its type (`kind`) cannot hold: how many `misfits` of how many
    #: `values`, and the first of them as an `example` with its `file` and `record`.
    misfits: dict[str, dict[str, object]]
    #: Bytes of text.
    bytes: int
    seconds: float
    commits: int
    #: The dedup policy in words.
    policy: str
    #: What the decisions cost.
    dedup: Report
    #: What a careful person should look at.
    alarms: list[object]
    stages: Report
    dry_run: bool


class LoadReport(IngestReport):
    """What became of a load: what an ingest tells, and what was checked."""

    #: Removed documents whose texts were compared with their witnesses'.
    compared: int
    #: Removed documents that came before their witnesses.
    later: int
    #: Texts whose token ids came with them, each tokenizer counted.
    brought: int


class RedoReport(Report):
    """What another dedup policy changed."""

    before: str
    policy: str
    documents: int
    kept_before: int
    kept_after: int
    sources: list[Report]
    #: Buckets that were read only in part.
    capped: int
    dry_run: bool


class SettleReport(Report):
    """What comparing the rest of crowded buckets changed."""

    #: Documents with candidates that were not compared, and those of them that are settled.
    crowded: int
    settled: int
    no_longer_kept: int
    kept_again: int
    #: What the decisions cost.
    dedup: Report
    commits: int
    dry_run: bool


class RemovalReport(Report):
    """What a removal or a restoration changed."""

    selected: int
    changed: int
    unchanged: int
    #: Of the restored ones, documents that a stopped purge would have erased: it goes on without them.
    spared: int
    no_longer_kept: int
    kept_again: int
    #: Copies of what was removed that stand: those kept in its place, and the duplicates of these.
    copies: int
    #: Documents that are kept out by removals.
    blocked: int
    #: What the decisions cost.
    dedup: Report
    commits: int
    dry_run: bool


class DropRejectsReport(Report):
    """What became of rejected records that are not to be listed any more."""

    #: Rejected records that were forgotten, and their bytes.
    dropped: int
    bytes: int
    #: Rejected records that are left.
    left: int
    commits: int
    dry_run: bool


class PurgeReport(Report):
    """What a purge erased."""

    selected: int
    purged: int
    #: Of these, documents of a purge that had been stopped.
    resumed: int
    #: Of those asked for, purged before.
    unchanged: int
    removed: int
    kept_again: int
    blocked: int
    #: Texts that had been lent to others, which have them now.
    moved_texts: int
    dictionaries: int
    texts_rewritten: int
    snapshots: int
    rejects: int
    #: Expressions, recipes and records of how tokenizers were made that quoted them.
    redacted: int
    #: Values of fields that no document has any more.
    values: int
    #: Verdicts of reviews on texts that no document has any more.
    verdicts: int
    checkpoints: list[str]
    commits: int
    #: Whether an earlier moment that is open in this process keeps the files: let go of it, and purge again.
    held: bool
    dry_run: bool


class PurgeCertificate(Report):
    """What a search for all that was ever purged came to; true when nothing of it is left."""

    #: The release that searched, the store format, and the identity of the database.
    release: str
    format: int
    corpus: str
    #: The commit that was searched, its digest, and when.
    commit: int
    digest: str
    time: str | None
    #: Purged documents, runs of their texts, keys, fields and token ids that were searched for, and documents that are
    #: too short for any.
    purged: int
    runs: int
    without_runs: int
    #: What was searched: rows by family, files as they lie there, and the spellings of words of users.
    families: list[Report]
    files: list[Report]
    decodings: list[str]
    #: Sketches of purged documents that stay, since what is similar is blocked; the words they are compared by.
    sketches: int
    normaliser: str
    #: Paths of files from which purged documents without a key were read, and the first of them.
    kept_paths: int
    paths: list[str]
    #: Dry runs of other processes, which are not searched.
    twins: list[str]
    #: Runs that other stored documents have too, the first of them, and runs that suites have.
    shared_runs: int
    shared: list[Report]
    suite_runs: int
    #: Places where a run was found that nobody else has, and the first of them.
    found: int
    findings: list[Report]

    def __bool__(self) -> bool:
        return self.found == 0 and not self.twins


class JoinReport(Report):
    """What values from outside changed."""

    _absent = {"misfits": {}}

    fields: list[str]
    records: int
    #: Records that have a value and name a stored document.
    matched: int
    #: Documents of which a value changed, and of which none did; counted once a commit.
    changed: int
    unchanged: int
    #: Where the keep order goes by a field that was set: documents that are kept now and were not, and those that are
    #: not any more; counted once a commit.
    kept_again: int
    no_longer_kept: int
    without_value: int
    #: By field, values that its type cannot hold, which were passed over; as those of `IngestReport`.
    misfits: dict[str, dict[str, object]]
    #: Records that name no stored document, and the first of their names.
    unknown: int
    unknown_examples: list[str]
    commits: int
    dry_run: bool


class FieldReport(Report):
    """What a field that was added or computed came to."""

    field: str
    kind: str
    #: Where in the metadata its values stand.
    member: str
    documents: int
    #: Documents that have a value, and those whose value is of another type, which counts as none.
    values: int
    ill_typed: int
    #: Documents whose value was changed by it.
    changed: int
    #: As those of `JoinReport`.
    kept_again: int
    no_longer_kept: int
    commits: int
    dry_run: bool


class Field(Report):
    """A declared field."""

    name: str
    #: `keyword`, `int`, `float`, `bool` or `timestamp`.
    kind: str
    #: `declared`; `fed`: and every document that comes is given the value of `expression`; `filling`: an addition was
    #: interrupted, and no query sees it before it is run to its end.
    state: str
    #: Documents that have a value.
    documents: int
    #: Different values of a keyword.
    distinct: int | None
    #: Where in the metadata its values stand.
    member: str
    #: The SQL expression that it was computed by.
    expression: str | None
    #: Documents whose value is of another type, and so null; the first of them with its `document` and `value`.
    misfits: int
    misfit: Report | None


class Signal(Report):
    """A score of texts that can be stored."""

    name: str
    #: `gopher`, `c4`, `fineweb`, or `all` where it is of that alone.
    set: str
    #: `keyword`, `int` or `float`.
    kind: str
    #: The function that it is, in SQL over `documents`.
    expression: str
    #: `stored`, and every document that comes is given it; `filling`: an addition was interrupted; `absent`; `other`: a field
    #: of its name has other values.
    state: str
    #: Documents that have a value, where it is stored or filled.
    documents: int | None


class SignalsReport(Report):
    """What became of signals that were added."""

    #: Those that were asked for, and those of them that were stored before.
    signals: list[str]
    known: list[str]
    #: Documents that were scored now.
    documents: int
    commits: int
    dry_run: bool


class QualityReport(Report):
    """What published rules would remove of the kept documents; nothing was removed."""

    #: The set of rules.
    set: str
    source: str | None
    #: The documents that were looked at, and those that break a rule at least: `documents`, `bytes`, `tokens`.
    documents: Report
    removes: Report
    #: The same by source, at most 16.
    sources: list[Report]
    sources_left_out: int
    #: Each rule: what it `removes` alone, what `only` it removes, `by_source`, and its `thresholds` with the documents just
    #: `outside` and `inside`.
    rules: list[Report]
    #: Each score: its `origin`, "stored" or "text", its `spread`, and that of its `sources`.
    scores: list[Report]


class Info(Report):
    """What is in a corpus."""

    #: Bytes on disk by family.
    disk: list[Report]
    #: The dedup policy: in words, as values, and each setting with what it means.
    policy: str
    policy_settings: Report
    settings: list[Report]
    commit: int
    generation: int
    documents: int
    kept: int
    standings: list[Report]
    bytes: int
    kept_bytes: int
    rejects: int
    sources: list[Report]
    tokenizers: list[Report]
    #: Which documents have a number of tokens in SQL, in words.
    tokens_rule: str
    fields: list[Report]
    commits: list[Report]
    snapshots: list[Report]
    epochs: list[Report]


class SimilarDocument(Report):
    """A stored document that resembles what was looked for."""

    id: int
    key: str
    source: str
    standing: str
    #: Exact Jaccard similarity.
    jaccard: float
    #: Whether it would make what was looked for a duplicate.
    duplicate: bool
    #: Similarity by the sketches.
    estimate: float | None
    #: Share of the text that the document has, and of the document that the text has.
    containment_text: float
    containment_document: float
    shared_bands: int
    #: Probability with which a pair of this similarity is found.
    detection: float
    #: The first characters of its text.
    beginning: str


class SimilarReport(Report):
    """The stored documents most similar to a text; iterating gives them."""

    _classes = {"found": SimilarDocument}

    document: int | None
    tokens: int
    shingles: int
    by: str
    threshold: float
    found_at_threshold: float
    buckets: int
    capped: int
    cap: int
    candidates: int
    verified: int
    passed_over: int
    found: list[SimilarDocument]

    def __iter__(self) -> Iterator[SimilarDocument]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, at: int) -> SimilarDocument:
        return self.found[at]


class DuplicatesSummary(Report):
    """All duplicates in numbers."""

    _absent = {"source": None}

    policy: str
    source: str | None
    documents: int
    kept: int
    removed: list[Report]
    #: What is counted by: `source`, or a field.
    by: str
    sources: list[Report]
    source_pairs: list[Report]
    similarity: Report
    clusters: int
    cluster_sizes: list[Report]
    largest: list[Report]


class DocumentDuplicates(Report):
    """A document among its duplicates."""

    id: int
    key: str
    source: str
    standing: str
    #: The newer document of its key.
    successor: int | None
    bands: int
    witness: Report | None
    cluster: Report | None


class DedupExplanation(Report):
    """What a dedup policy finds, stores and costs."""

    policy: str
    policy_settings: Report
    settings: list[Report]
    unused_slots: int
    half: float
    estimate_floor: float
    detection: list[Report]
    bytes: Report
    sample: Report | None
    change: Report | None


class Fault(Report):
    """Something that is not as it must be."""

    place: str
    what: str


class CheckReport(Report):
    """What a check found; true when all is well."""

    _classes = {"faults": Fault}

    commit: int
    documents: int
    #: Documents with candidates that were not compared (`Writer.dedup.settle`).
    crowded: int
    faults: list[Fault]

    def __bool__(self) -> bool:
        return not self.faults


class LostRows(Report):
    """Rows of a family that cannot be read and follow from nothing else."""

    family: str
    #: Which: documents, commits, or the keys that they are between.
    what: str
    #: How many documents they are of; 0 where they are of none, or nothing says.
    documents: int


class RepairReport(Report):
    """What a repair came to; true when all is well now."""

    _classes = {"lost": LostRows, "faults": Fault}

    #: The families that were made again; `counters` for those of sources alone.
    repaired: list[str]
    #: What follows from nothing else. Where there is some, nothing was changed.
    lost: list[LostRows]
    #: What a deep check finds afterwards.
    faults: list[Fault]
    commit: int
    documents: int

    def __bool__(self) -> bool:
        return not self.lost and not self.faults


class LostDocument(Report):
    """A document that cannot be read whole."""

    document: int
    #: Its key, where that can be read.
    key: str | None
    why: str


class SalvageReport(Report):
    """What of a damaged corpus was copied; true when no document is lost."""

    _classes = {"listed": LostDocument}

    documents: int
    copied: int
    lost: int
    #: Their numbers: `3, 7 to 9`.
    lost_documents: str
    #: The first thousand of them, each with why.
    listed: list[LostDocument]
    #: Documents that had been purged, of which nothing is left.
    purged: int
    #: Documents that had been removed and are removed in the copy.
    removed: int
    #: What else was not copied, in words.
    left: list[str]

    def __bool__(self) -> bool:
        return not self.lost


class Reject(Report):
    """A record that could not be read."""

    source: str
    path: str
    #: Records before it in the file, and its first byte there as decompressed (of Parquet, its row).
    number: int
    offset: int
    reason: str
    #: Its length, and its first bytes.
    bytes: int
    raw: object


class Snapshot(Report):
    """A durable name of a moment."""

    _absent = {"purged": 0}

    name: str
    commit: int
    documents: int
    kept: int
    #: Documents that were kept then and have been purged since.
    purged: int


class DroppedSnapshot(Report):
    """A snapshot that was dropped."""

    name: str
    commit: int
    documents: int
    kept: int
    #: Documents that were kept then and have been purged since.
    purged: int
    #: Stored plans that draw from it; they pin their documents and give the same rows as before.
    plans: list[int]


class BackupFile(Report):
    """A file of a backup."""

    _absent = {"tail": None}

    name: str
    bytes: int
    blake3: str
    #: blake3 of the end of a table, which names it: one that ends the same is not read again.
    tail: str | None


class Backup(Report):
    """A backup: one commit of a corpus."""

    _classes = {"files": BackupFile}

    #: The commit that it ends with, which names it.
    commit: int
    documents: int
    #: Store format of the corpus then, and the release that took it.
    format: int
    release: str
    bytes: int
    files: list[BackupFile]


class BackupReport(Report):
    """What a backup came to."""

    #: The commit that it ends with, which names it.
    commit: int
    documents: int
    files: int
    bytes: int
    #: Files of them that the directory did not have, and their bytes.
    new_files: int
    new_bytes: int


class BackupFault(Report):
    """What is wrong with a backup."""

    commit: int
    #: The file, by its path in the corpus; `N.json` where it is the manifest.
    file: str
    what: str


class BackupsCheck(Report):
    """What reading all backups of a directory came to."""

    _classes = {"faults": BackupFault}

    #: The commits of the backups whose manifests can be read.
    backups: list[int]
    faults: list[BackupFault]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


class DroppedBackup(Report):
    """A backup that was dropped."""

    commit: int
    #: Files that no other backup has, and that are gone.
    files: int
    bytes: int


class DocumentCounts(Report):
    """Documents, and what they come to."""

    documents: int
    bytes: int
    #: By tokenizer.
    tokens: dict[str, int]


class LossCounts(Report):
    """Documents that are not kept for one reason."""

    #: `exact`, `near`, `superseded`, `empty`, `blocked`, `removed`, `purged`; `unknown` where nothing says it any more.
    reason: str
    documents: int
    bytes: int
    tokens: dict[str, int]


class SnapshotSource(Report):
    """What a snapshot keeps of a source."""

    source: str
    documents: int
    bytes: int
    tokens: dict[str, int]


class SnapshotDetails(Report):
    """What a snapshot holds."""

    _classes = {"sources": SnapshotSource}

    name: str
    commit: int
    #: Documents stored then, and those of them that are kept.
    documents: int
    kept: int
    kept_bytes: int
    tokens: dict[str, int]
    sources: list[SnapshotSource]
    #: Stored plans that draw from it.
    plans: list[int]


_CHANGES = {
    "added": DocumentCounts, "kept_again": DocumentCounts, "removed": DocumentCounts, "removed_by": LossCounts,
    "not_kept": DocumentCounts, "not_kept_by": LossCounts,
}


class GroupChanges(Report):
    """What changed of a source, or of a value of a field."""

    _classes = _CHANGES

    group: str
    added: DocumentCounts
    kept_again: DocumentCounts
    removed: DocumentCounts
    removed_by: list[LossCounts]
    not_kept: DocumentCounts
    not_kept_by: list[LossCounts]


class SnapshotDiff(Report):
    """What changed from one moment to a later one, in all and by group."""

    _classes = {**_CHANGES, "earlier": Snapshot, "later": Snapshot, "groups": GroupChanges}

    earlier: Snapshot
    later: Snapshot
    #: What the groups are by: `source`, or a field.
    by: str
    #: They came, and are kept.
    added: DocumentCounts
    #: They were stored and not kept, and are kept.
    kept_again: DocumentCounts
    #: They were kept, and are not; and why.
    removed: DocumentCounts
    removed_by: list[LossCounts]
    #: They came, and are not kept; and why.
    not_kept: DocumentCounts
    not_kept_by: list[LossCounts]
    groups: list[GroupChanges]


class GroupStats(Report):
    """The documents of a source and a language."""

    _classes = {"all": DocumentCounts, "kept": DocumentCounts}

    source: str
    #: None for documents without one, or where languages are not told apart.
    language: str | None
    all: DocumentCounts
    kept: DocumentCounts


class ColumnStats(Report):
    """How the values of a column are spread; each is None where no document has one."""

    column: str
    #: `int`, `float` or `timestamp`.
    kind: str
    #: Whether it is among kept documents only.
    of_kept: bool
    #: Documents with a value and without one.
    count: int
    nulls: int
    #: Each quantile is the least value that so many in a hundred do not exceed. Of timestamps, text.
    min: object
    p5: object
    p25: object
    p50: object
    p75: object
    p95: object
    max: object
    mean: object
    #: The standard deviation; of timestamps in seconds.
    spread: float | None


class LossStats(Report):
    """The documents of a source by what became of them, and shares of its documents."""

    source: str
    documents: int
    kept: int
    exact: int
    near: int
    superseded: int
    removed: int
    blocked: int
    empty: int
    #: Not kept in a snapshot for a reason that is gone since.
    unknown: int
    exact_rate: float
    near_rate: float
    superseded_rate: float
    removed_rate: float


class RejectStats(Report):
    """Records of a source that were set aside for one reason, whose numbers are spelled `N`."""

    source: str
    reason: str
    records: int
    bytes: int


class MisfitStats(Report):
    """Values of a declared field that are of another type, and so null."""

    field: str
    #: The type of the field.
    kind: str
    #: Documents that have one, and kept ones of these.
    documents: int
    kept: int
    #: The first of them: `document` and `value`.
    example: Report


class Stats(Report):
    """A corpus in numbers."""

    _classes = {
        "all": DocumentCounts, "kept": DocumentCounts, "groups": GroupStats, "columns": ColumnStats,
        "losses": LossStats, "rejects": RejectStats, "misfits": MisfitStats,
    }
    _absent = {"misfits": []}

    #: The moment: `name` (`now` without a snapshot), `commit`, `documents`, `kept`.
    moment: Report
    where: str | None
    source: str | None
    #: What all documents come to, and those that are kept.
    all: DocumentCounts
    kept: DocumentCounts
    #: The same by source and language.
    groups: list[GroupStats]
    #: Whether languages are not told apart, because there would be more than 1,000 groups.
    is_by_source_alone: bool
    #: Lengths and declared numbers: of all documents, then of those that are kept.
    columns: list[ColumnStats]
    #: Why documents are not kept, by source.
    losses: list[LossStats]
    #: Values of declared fields that are of another type.
    misfits: list[MisfitStats]
    #: Why records were not read; none with a condition or a snapshot.
    rejects: list[RejectStats]


class CorpusReport(Report):
    """A corpus as a data card tells it."""

    _absent = {"duplicates": None, "plan": None}

    #: The name of its directory, and the release that says all this.
    name: str
    version: str
    #: Policy, fields, tokenizers, the last commit.
    about: Report
    #: `all` and `kept` documents; `groups` by source and language: the largest are `shown`, `others` is their sum.
    sizes: Report
    #: Documents by length, in bins of powers of two: `column` and `bins`.
    lengths: list[Report]
    #: `columns` of the whole corpus, and `by_source`.
    spreads: Report
    #: What became of the documents of each source, and why records were not read; as `sizes.groups`.
    losses: Report
    rejects: Report
    #: Between which sources, how similar, the largest clusters; absent where `omitted` says why.
    duplicates: Report | None
    #: What of evaluation `suites` is in kept documents.
    contamination: Report
    #: The domains of kept documents whose key is an address of the web.
    domains: Report
    #: The commits in `stretches`, and other `events` than ingests.
    timeline: Report
    snapshots: list[Report]
    snapshots_left_out: int
    #: What a run of the plan gets, where one was asked for.
    plan: Report | None
    omitted: list[Report]
