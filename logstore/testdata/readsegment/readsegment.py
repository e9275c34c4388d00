#!/usr/bin/env python3
"""Prints the entries of a segment, a line of JSON each.

usage: python3 readsegment.py FILE

This is a second reader of the files that package logstore writes, made from their
documentation alone: the package comments of logstore/internal/segment2 (the file), block
(the rows of a block), column (the variables of its lines) and template (the rest of
them). It reads segments of version 2 with blocks of both codecs, and verifies every
checksum. It is made to be read, not to be fast.

An entry has "tenant" (unless it is ""), "labels", "time" in nanoseconds since the Unix
epoch, "line", and "metadata" (unless it is empty). A line that is not UTF-8 is in
"line_base64" instead.

It needs Python 3.10 or later, and its module compression.zstd, which is there from 3.14
on; before, the package zstandard (Debian: python3-zstandard).
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from typing import NamedTuple

from blocks import Row, block, dictionary
from index import index
from raw import Bytes, Damaged, crc32c, require, unzip


class Section(NamedTuple):
    kind: int
    flags: int
    items: int
    offset: int
    size: int
    raw: int
    checksum: int
    instance: int


class Stream(NamedTuple):
    tenant: str
    labels: dict[str, str]


def pairs(p: bytes) -> dict[str, str]:
    """Decodes labels or metadata."""
    r, out = Bytes(p, "labels"), {}
    while r.left():
        name = r.take(r.uvarint()).decode()
        out[name] = r.take(r.uvarint()).decode()
    return out


class Segment:
    """A segment of version 2."""

    def __init__(self, p: bytes) -> None:
        self.p = p
        require(len(p) >= 96 + 128 and p[:8] == b"STELESEG" and p[-8:] == b"STELEEND", "this is no segment, or not a whole one")
        header, footer = Bytes(p[:96], "the header"), Bytes(p[-128:], "the footer")
        _, version, salt, checksum = header.fields(8, 4, 8, 4)
        require(crc32c(p[:20]) == checksum, "the header: its checksum")
        require(version == 2, f"a segment of version {version}; this program reads version 2")
        require(crc32c(p[24:92]) == int.from_bytes(p[92:96], "little"), "the header: its second checksum")
        self.salt = salt.to_bytes(8, "little")
        footer.take(40)
        self.rows, _, size, _, _, table, _, table_size, table_sum, self.streams_count, _, checksum = footer.fields(
            8, 8, 8, 16, 8, 8, 4, 4, 4, 4, 4, 4
        )
        require(crc32c(p[-128:-12]) == checksum and size == len(p), "the footer: its checksum, or the size of the file")
        stored = self.range(table, table_size, "the section table")
        require(crc32c(stored) == table_sum and table + table_size == len(p) - 128, "the section table: its checksum")
        r = Bytes(stored, "the section table")
        self.sections: list[Section] = []
        while r.left():
            self.sections.append(Section(*r.fields(2, 2, 4, 8, 8, 8, 4, 4)))
        zones = [self.whole(s) for s in self.sections if s.kind == 7]
        self.index = index(p, zones[0] if zones else b"")
        self.templates = [dictionary(self.whole(s)) for s in self.sections if s.kind == 16]

    def range(self, offset: int, size: int, what: str) -> bytes:
        require(offset + size <= len(self.p), f"{what}: {size} bytes at offset {offset}, of {len(self.p)}")
        return self.p[offset : offset + size]

    def whole(self, s: Section) -> bytes:
        """Returns the bytes of a section that has no parts."""
        what = f"section {s.kind} at offset {s.offset}"
        stored = self.range(s.offset, s.size, what)
        require(crc32c(stored) == s.checksum, f"{what}: its checksum")
        return unzip(stored, s.raw, what)

    def verify(self) -> None:
        """Verifies that nothing is between the sections, and their checksums."""
        end = self.sections[0].offset if self.sections else 0
        for s in self.sections:
            require(s.offset == end, f"section {s.kind}: offset {s.offset}; want {end}")
            end += s.size
            if s.flags & 4:
                self.verify_parts(s)
            elif s.kind not in (6, 8):  # their checksums are with those of groups
                self.whole(s)

    def verify_parts(self, s: Section) -> None:
        what = f"section {s.kind} at offset {s.offset}"
        stored = self.range(s.offset, s.size, what)
        table = stored[s.size - s.raw :]
        require(crc32c(table) == s.checksum, f"{what}: the checksum of its parts")
        r, parts = Bytes(table, what), Bytes(stored[: s.size - s.raw], what)
        while r.left():
            size, raw, checksum = r.uvarint(), r.uvarint(), r.fixed(4)
            part = parts.take(size)
            require(crc32c(part) == checksum, f"{what}: the checksum of a part")
            unzip(part, raw, what)
        parts.end()

    def entries(self) -> Iterator[tuple[Stream, Row]]:
        """Yields all entries, in the order of the file."""
        at, streams, rows = 96, [], 0
        end = self.sections[0].offset if self.streams_count else at  # of the frames of labels and blocks
        while at < end:
            kind = self.range(at + 4, 4, "a frame")
            require(kind in (b"LABL", b"BLOK"), f"a frame of kind {kind!r} at offset {at}")
            size = 32 if kind == b"LABL" else 40
            frame = self.range(at, size, "a frame")
            f = Bytes(frame, "a frame")
            checksum = f.fixed(4)
            require(crc32c(self.salt + at.to_bytes(8, "little") + frame[4:]) == checksum, f"the frame at offset {at}: its checksum")
            f.take(8)
            if kind == b"LABL":
                raw, first, count, stored, checksum = f.fields(4, 4, 4, 4, 4)
                require(first == len(streams), f"the labels at offset {at} begin with stream {first}; want {len(streams)}")
                streams += self.keys(at + size, stored, raw, count, checksum)
                at += size + stored
                continue
            codec, number, *sizes = f.fields(2, 2, 4, 4, 4)
            parts = []
            at += size
            for part, checksum in zip(sizes, f.fields(4, 4, 4)):
                parts.append(self.range(at, part, "a block"))
                require(crc32c(parts[-1]) == checksum, f"the block before offset {at}: a checksum")
                at += part
            require(codec in (1, 2) and number <= len(self.templates), f"codec {codec} with dictionary {number}")
            templates = self.templates[number - 1] if number else None
            ordinals = self.ordinals(parts[0])
            decoded = block(parts[2], templates)
            e = self.index.get(at - size - sum(sizes))
            times = [row.time for row in decoded]
            require(
                e is not None
                and (e.sizes, e.codec, e.dictionary, e.checksum) == (sizes, codec, number, crc32c(parts[2]))
                and (e.rows, e.first_time, e.last_time) == (len(times), min(times), max(times)),
                f"the index has another block at offset {at - size - sum(sizes)}: {e}",
            )
            require(len(ordinals) == len(decoded), f"{len(decoded)} rows in a block; want {len(ordinals)}")
            rows += len(decoded)
            yield from ((streams[i], row) for i, row in zip(ordinals, decoded))
        require(at == end and rows == self.rows and len(streams) == self.streams_count, f"{rows} rows; want {self.rows}")

    def keys(self, at: int, stored: int, raw: int, count: int, checksum: int) -> list[Stream]:
        what = f"the labels at offset {at}"
        p = self.range(at, stored, what)
        require(crc32c(p) == checksum, f"{what}: their checksum")
        r, out, key = Bytes(unzip(p, raw, what), what), [], b""
        for _ in range(count):
            shared = r.uvarint()
            key = key[:shared] + r.take(r.uvarint())
            out.append(Stream(key[1 : 1 + key[0]].decode(), pairs(key[1 + key[0] :])))
        r.end()
        return out

    def ordinals(self, p: bytes) -> list[int]:
        """Returns the stream of each row, by the list of a block."""
        r, out, ordinal = Bytes(p, "the list of a block"), [], 0
        while r.left():
            ordinal += r.uvarint()
            r.uvarint()  # which run of the stream it is
            out += [ordinal] * r.uvarint()
        require(ordinal < self.streams_count, f"the list of a block: stream {ordinal} of {self.streams_count}")
        return out


def shown(stream: Stream, row: Row) -> dict[str, object]:
    out: dict[str, object] = {"tenant": stream.tenant} if stream.tenant else {}
    out |= {"labels": stream.labels, "time": row.time}
    try:
        out["line"] = row.line.decode()
    except UnicodeDecodeError:
        out["line_base64"] = base64.b64encode(row.line).decode()
    if row.metadata:
        out["metadata"] = pairs(row.metadata)
    return out


def main(args: list[str]) -> int:
    if len(args) != 1 or args[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(args[0], "rb") as file:
            segment = Segment(file.read())
        segment.verify()
        for stream, row in segment.entries():
            print(json.dumps(shown(stream, row)))
    except (OSError, Damaged, ArithmeticError, LookupError, ValueError) as err:
        print(f"readsegment: {args[0]}: {err}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
