"""Store: a folder of records, found again by the keys of their tasks."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from sgat.data.files.atomic import replacing
from sgat_lab.trials.record import Record
from sgat_lab.trials.task import Task


def read_packed(path: Path) -> list[Record]:
    """The records of a packed file.

    Raises:
        ValueError: If it is none.
    """
    try:
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no file of packed records: {error}.") from None
    return [
        Record.from_json(line, f"{path}, line {number}")
        for number, line in enumerate(lines, start=1)
    ]


PACKED = "records.jsonl.gz"
"""The file of many records in one."""


class Store:
    """A folder of records, one file each, which several processes may fill at once.

    Records that are kept for good can be packed into one file beside them.

    Args:
        folder: Where the records are; made when the first is saved.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self._known: dict[str, Record] = {}
        packed = self.folder / PACKED
        if packed.exists():
            self._known = {record.key: record for record in read_packed(packed)}

    def path(self, key: str) -> Path:
        """Path of the record of a task."""
        return self.folder / f"{key}.json"

    def find(self, task: Task) -> Record | None:
        """The record of a task, if it is there."""
        if task.key in self._known:
            return self._known[task.key]
        path = self.path(task.key)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        record = Record.from_json(text, str(path))
        if record.key != task.key:
            raise ValueError(
                f"{path} holds the record of another training, {record.key}; give it"
                " back its name or move it away."
            )
        self._known[task.key] = record
        return record

    def keys(self) -> set[str]:
        """Keys of all records that are there now."""
        files = self.folder.glob("*.json")
        return {*self._known, *(file.name.removesuffix(".json") for file in files)}

    def by_data(self, tasks: Iterable[Task]) -> dict[str, list[Record]]:
        """The records of these tasks that are there, by the name of the data set."""
        found: dict[str, list[Record]] = {}
        for task in tasks:
            record = self.find(task)
            if record is not None:
                found.setdefault(record.data, []).append(record)
        return found

    def save(self, record: Record) -> None:
        """Write a record, in full or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self.path(record.key)) as temporary:
            text = json.dumps(record.to_dict(), indent=1)
            temporary.write_text(text + "\n", encoding="utf-8")
        self._known[record.key] = record

    def pack(self) -> int:
        """Move all records into one file, sorted; returns how many it holds.

        No other process may be at work in the folder.
        """
        files = sorted(self.folder.glob("*.json"))
        for file in files:
            text = file.read_text(encoding="utf-8")
            record = Record.from_json(text, str(file))
            self._known[record.key] = record
        records = sorted(
            self._known.values(),
            key=lambda r: (r.data, r.split, r.row, r.seed, r.key),
        )
        lines = [json.dumps(record.to_dict()) for record in records]
        with replacing(self.folder / PACKED) as temporary:
            # Without a time in it, the same records are the same bytes.
            text = "".join(f"{line}\n" for line in lines)
            temporary.write_bytes(gzip.compress(text.encode(), mtime=0))
        for file in files:
            file.unlink()
        return len(records)

    @contextlib.contextmanager
    def claim(self, task: Task) -> Iterator[bool]:
        """Whether this process may run a task now: no other is, and none has.

        The claim ends with the block, or with the process.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f".{task.key}.lock"
        with path.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            # Its last owner removed the file after it was opened here: others cannot
            # see this lock, and the next look finds or makes another.
            if os.fstat(file.fileno()).st_nlink == 0:
                yield False
                return
            try:
                yield self.find(task) is None
            finally:
                path.unlink(missing_ok=True)
