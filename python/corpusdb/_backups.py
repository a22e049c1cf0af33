"""Backups of corpora."""

from __future__ import annotations

import json
import os

from corpusdb import _native
from corpusdb._progress import ProgressOption, listening
from corpusdb._reports import Backup, BackupReport, BackupsCheck, DroppedBackup

__all__ = ["Backups"]


class Backups:
    """The backups of one corpus, in a directory or below an address (`s3://`, `gs://`, `az://`, as text): each is one
    commit, and is named by it. They are taken beside a writer, of this process or of another one.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = os.fspath(directory)

    def create(self, corpus: str | os.PathLike[str], *, progress: ProgressOption = None) -> BackupReport:
        """Takes a backup of the last commit. Files that earlier backups have are not written again."""
        with listening(progress) as listener:
            return BackupReport.from_json(_native.create_backup(self._directory, os.fspath(corpus), listener))

    def list(self) -> list[Backup]:
        """The backups, in order of their commits."""
        return [Backup(record) for record in json.loads(_native.list_backups(self._directory))]

    def verify(self, *, progress: ProgressOption = None) -> BackupsCheck:
        """Reads every byte of every backup; what is damaged is in the answer, by backup and file."""
        with listening(progress) as listener:
            return BackupsCheck.from_json(_native.verify_backups(self._directory, listener))

    def restore(
        self, target: str | os.PathLike[str], commit: int | None = None, *, progress: ProgressOption = None
    ) -> Backup:
        """Makes a corpus at `target` of the backup of a commit, or of the newest: whole or not at all."""
        with listening(progress) as listener:
            return Backup.from_json(_native.restore_backup(self._directory, os.fspath(target), commit, listener))

    def drop(self, commit: int, *, progress: ProgressOption = None) -> DroppedBackup:
        """Drops the backup of a commit, and the files that no other one has."""
        with listening(progress) as listener:
            return DroppedBackup.from_json(_native.drop_backup(self._directory, commit, listener))

    def unlock(self) -> int:
        """Clears the marks that processes left in a store which were killed while they added or dropped backups: how
        many. Only when none of them lives; a directory has none.
        """
        return _native.unlock_backups(self._directory)

    def __repr__(self) -> str:
        return f"corpusdb.Backups({self._directory!r})\n  next: .create(corpus), .list(), .verify(), .restore(target)"
