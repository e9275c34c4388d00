"""The index of the blocks in a segment, zones and groups: package logstore/internal/segment2."""

from __future__ import annotations

from typing import NamedTuple

from raw import Bytes, crc32c, require, signed, unzip


class Entry(NamedTuple):
    """What the index has of a block."""

    sizes: list[int]  # of list, positions and block
    codec: int
    dictionary: int
    rows: int
    first_time: int
    last_time: int
    checksum: int  # of the block
    filter_size: int
    filter_checksum: int


def range_of(p: bytes, offset: int, size: int, checksum: int, what: str) -> bytes:
    """Returns bytes of the segment p, verified."""
    require(offset + size <= len(p), f"{what}: {size} bytes at offset {offset}, of {len(p)}")
    stored = p[offset : offset + size]
    require(crc32c(stored) == checksum, f"{what}: its checksum")
    return stored


def index(p: bytes, zones: bytes) -> dict[int, Entry]:
    """Decodes the groups of the segment p, and verifies the filters of its blocks, which it
    returns by the offsets of their frames."""
    r, out, runs_at = Bytes(zones, "the zones"), {}, []
    while r.left():
        at, size, raw, checksum, runs_size, _, runs_checksum, number, count, _, rows = r.fields(8, *[4] * 10)
        frame, filters, filters_size, _, _, zero, first_time, last_time, _ = r.fields(8, 8, 4, 4, 4, 4, 8, 8, 8)
        what = f"the group of the blocks from {number} on"
        require(zero == 0 and number == len(out), f"{what} follows {len(out)} blocks")
        stored = range_of(p, at, size, checksum, what)
        group = entries(Bytes(unzip(stored, raw, what), what), count, signed(first_time))
        require(sum(e.rows for e in group) == rows, f"{what}: its rows; want {rows}")
        require(max(e.last_time for e in group) == signed(last_time), f"{what}: its last time; want {last_time}")
        for e in group:
            out[frame] = e
            frame += 40 + sum(e.sizes)
            range_of(p, filters, e.filter_size, e.filter_checksum, f"a filter of {what}")
            filters, filters_size = filters + e.filter_size, filters_size - e.filter_size
        require(filters_size == 0, f"{what}: the bytes of its filters")
        runs_at.append((runs_size, runs_checksum, what))
        end = at + size
    for size, checksum, what in runs_at:  # these parts follow those of all groups
        range_of(p, end, size, checksum, f"the runs of {what}")
        end += size
    return out


def entries(r: Bytes, n: int, first_time: int) -> list[Entry]:
    """Decodes the first part of a group of n blocks."""
    require(r.fixed(1) == 0, f"{r.what}: flags")
    # Of list, positions, block and filter the bytes; codec, dictionary, rows, raw, runs.
    numbers = [[r.uvarint() for _ in range(n)] for _ in range(9)]
    steps = [r.varint() for _ in range(n)]
    spans = [r.uvarint() for _ in range(n)]
    for _ in range(2 * n):  # lowest and highest ordinals
        r.uvarint()
    blocks, filters = [r.fixed(4) for _ in range(n)], [r.fixed(4) for _ in range(n)]
    r.end()
    out = []
    for i in range(n):
        of = [column[i] for column in numbers]
        first_time = signed(first_time + steps[i])
        out.append(Entry(of[:3], of[4], of[5], of[6], first_time, signed(first_time + spans[i]), blocks[i], of[3], filters[i]))
    return out
