"""Backups of corpora."""

from __future__ import annotations

import os

from corpusdb._call import call
from corpusdb._progress import ProgressOption
from corpusdb.reports import Backup, BackupReport, DropBackupReport, VerifyBackupsReport

__all__ = ["Backups"]


class Backups:
    """The backups of one corpus, in a directory or below an address (`s3://`, `gs://`, `az://`, as text).

    Each backup holds one commit and has its number. A backup can be taken while a writer is open, in this process or in
    another one.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = os.fspath(directory)

    def create(
        self, corpus: str | os.PathLike[str], *, record: bool = True, progress: ProgressOption = None
    ) -> BackupReport:
        """Takes a backup of the last commit. Files that an earlier backup holds are not written again.

        It leaves an entry in the table `outputs` of the corpus, unless `record=False`.
        """
        return BackupReport.from_json(
            call(
                "backup create", path=os.fspath(corpus), progress=progress, directory=self._directory, record=record
            )
        )

    def show(self) -> list[Backup]:
        """The backups, in order of their commits."""
        return Backup.each(call("backup show", directory=self._directory))

    def verify(self, *, progress: ProgressOption = None) -> VerifyBackupsReport:
        """Reads every byte of every backup. The answer lists the damage, by backup and file."""
        return VerifyBackupsReport.from_json(call("backup verify", progress=progress, directory=self._directory))

    def restore(
        self,
        target: str | os.PathLike[str],
        commit: int | None = None,
        *,
        repeat_purges: bool = False,
        progress: ProgressOption = None,
    ) -> Backup:
        """Restores the backup of a commit, or the newest one, to a new corpus at `target`: complete or not at all.

        It has the documents again that were purged since (`purged_since` counts those that a later backup tells of).
        With `repeat_purges` they are purged in it, too.
        """
        return Backup.from_json(
            call(
                "backup restore",
                progress=progress,
                directory=self._directory,
                target=target,
                id=commit,
                repeat_purges=repeat_purges,
            )
        )

    def drop(self, commit: int, *, progress: ProgressOption = None) -> DropBackupReport:
        """Drops the backup of a commit, and the files that no other backup uses."""
        return DropBackupReport.from_json(
            call("backup drop", progress=progress, directory=self._directory, id=commit)
        )

    def __repr__(self) -> str:
        return f"corpusdb.Backups({self._directory!r})\n  next: .create(corpus), .show(), .verify(), .restore(target)"
