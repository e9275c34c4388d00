"""The rows of blocks: package logstore/internal/block, and the templates of lines: package template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from columns import column
from raw import Bytes, bits_at, crc32c, require, signed, unzip


def dictionary(p: bytes) -> list[list[bytes]]:
    """Returns the literals of each template."""
    r = Bytes(p, "the dictionary of templates")
    version = r.fixed(1)
    require(version == 1, f"a dictionary of version {version}; this program knows 1")
    out = []
    for _ in range(r.uvarint()):
        literals = [bytearray()]
        while (c := r.fixed(1)) != 1:
            if c == 0:
                literals.append(bytearray())
            else:
                literals[-1].append(r.fixed(1) if c == 2 else c)
        out.append([bytes(x) for x in literals])
    r.end()
    return out


class Row(NamedTuple):
    time: int
    line: bytes
    metadata: bytes


def row_times(p: bytes, low: bytes, n: int, marked: bool) -> list[int]:
    r = Bytes(p, "the times of a block")
    times = [signed(r.fixed(8))]
    unit, order, width = r.uvarint(), r.fixed(1), r.fixed(1)
    bits = ((n - 1) * width + 7) // 8
    require(order in (1, 2) and width <= 56 and len(low) >= bits, f"times of order {order} and width {width}")
    marks = Bytes(low[bits:], "the marks of times")
    last = total = 0
    for i in range(n - 1):
        step = (r.varint() << width) + bits_at(low, i * width, width)
        last = last + step if order == 2 else step
        times.append(signed(times[-1] + last * unit))
        total += last
        if marked and (i + 1) % 128 == 0:
            total = signed(total)
            require(marks.varint() == total, f"the mark of row {i + 1} of a block")
            require(order == 1 or marks.varint() == signed(last - (total >> 7)), f"the mark of row {i + 1} of a block")
            total = 0
    r.end()
    marks.end()
    return times


def row_texts(p: bytes, lengths: bytes, n: int) -> list[bytes]:
    """Decodes lines of version 1, and metadata."""
    if not p and not lengths:
        return [b""] * n
    if not lengths:
        out = p.split(b"\xff")
        require(len(out) == n + 1 and out[n] == b"", f"{len(out) - 1} texts of {n} rows")
        return out[:n]
    r, sizes = Bytes(p, "texts"), Bytes(lengths, "the lengths of texts")
    out = []
    for _ in range(n):
        out.append(r.take(sizes.uvarint()))
        require(r.take(1) == b"\xff", "a text does not end")
    r.end()
    sizes.end()
    return out


def block(p: bytes, templates: list[list[bytes]] | None) -> list[Row]:
    require(p[:1] in (b"\1", b"\2"), "a block of a version that this program does not know")
    if p[0] == 1:
        return block1(Bytes(p, "a block of version 1"))
    require(templates is not None, "a block of version 2 without a dictionary")
    return block2(Bytes(p, "a block of version 2"), templates or [])


def block1(r: Bytes) -> list[Row]:
    require(r.left() >= 84 and crc32c(r.p[:80]) == int.from_bytes(r.p[80:84], "little"), "the header of a block: its checksum")
    _, zipped, zero, n = r.fields(1, 1, 2, 4)
    require(zero == 0 and zipped < 64, "the header of a block: unknown bits")
    entries = [r.fields(4, 4, 4) for _ in range(6)]
    r.take(4)
    raw = []
    for i, (size, before, checksum) in enumerate(entries):
        stored = r.take(size)
        require(crc32c(stored) == checksum, f"section {i} of a block: its checksum")
        require(zipped >> i & 1 == (size < before), f"section {i} of a block: {size} of {before} bytes")
        raw.append(unzip(stored, before, f"section {i} of a block"))
    r.end()
    return [Row(*row) for row in zip(row_times(raw[0], raw[1], n, False), row_texts(raw[2], raw[3], n), row_texts(raw[4], raw[5], n))]


class Layout(NamedTuple):
    """The table and the head of a block of version 2."""

    rows: int
    table: list[tuple[int, int]]  # number of a template, rows
    slots: list[list[int]]  # of each template, the columns of its slots
    columns: list[list[int]]  # packed bytes, text bytes, section
    sections: list[bytes]


def layout2(r: Bytes) -> Layout:
    require(r.left() >= 56 and crc32c(r.p[:52]) == int.from_bytes(r.p[52:56], "little"), "the header of a block: its checksum")
    _, flags, zero, n, head_size, head_raw, count, head_sum, table_size, table_sum = r.fields(1, 1, 2, *[4] * 7)
    times_size, times_raw, times_sum, bits_size, bits_sum, _ = r.fields(*[4] * 6)
    require(flags < 2 and zero == 0, "the header of a block: unknown bits")
    stored = r.take(table_size)
    require(crc32c(stored) == table_sum, "the table of a block: its checksum")
    t, table, number = Bytes(stored, "the table of a block"), [], 0
    for _ in range(count):
        number += t.varint()
        table.append((number, t.uvarint()))
    t.end()
    require(sum(rows for _, rows in table) == n, f"the table of a block: its rows; want {n}")

    sections = []

    def section(size: int, raw: int, checksum: int) -> None:
        stored = r.take(size)
        require(crc32c(stored) == checksum, f"section {len(sections)} of a block: its checksum")
        sections.append(unzip(stored, raw, f"section {len(sections)} of a block"))

    section(times_size, times_raw, times_sum)
    section(bits_size, bits_size, bits_sum)
    stored = r.take(head_size)
    require(crc32c(stored) == head_sum and flags == (head_size < head_raw), "the head of a block: its checksum")
    h = Bytes(unzip(stored, head_raw, "the head of a block"), "the head of a block")
    columns_count = h.uvarint()
    slots = [[h.uvarint() for _ in range(h.uvarint())] for _ in table]
    columns = [[h.uvarint(), h.uvarint(), h.uvarint()] for _ in range(columns_count)]
    for raw, less, checksum in [(h.uvarint(), h.uvarint(), h.fixed(4)) for _ in range(h.uvarint())]:
        section(raw - less, raw, checksum)
    h.end()
    r.end()
    require(len(sections) >= 7, f"{len(sections)} sections of a block; want at least 7")
    return Layout(n, table, slots, columns, sections)


def block2(r: Bytes, templates: list[list[bytes]]) -> list[Row]:
    b = layout2(r)
    times = row_times(b.sections[0], b.sections[1], b.rows, True)
    kinds = b.sections[2]  # which template of the table each row has
    if len(b.table) > 256:
        kinds = [low | high << 8 for low, high in zip(kinds[: b.rows], kinds[b.rows :])]
    require(len(kinds) == b.rows and max(kinds) < len(b.table), "the templates of the rows of a block")

    times_of: list[list[int]] = [[] for _ in b.columns]
    for time, kind in zip(times, kinds):
        for c in b.slots[kind]:
            times_of[c].append(time)
    packed, pool = Bytes(b.sections[3], "the packed bytes of columns"), Bytes(b.sections[4], "the texts of columns")
    columns: list[Iterator[bytes]] = []
    for i, (packed_size, text_size, own) in enumerate(b.columns):
        text = Bytes(b.sections[6 + own], f"the text of column {i}") if own else Bytes(pool.take(text_size), f"the text of column {i}")
        of = Bytes(packed.take(packed_size), f"column {i}")
        columns.append(iter(column(of, text, len(times_of[i]), times_of[i]) if times_of[i] else []))
        of.end()
        text.end()
    packed.end()
    pool.end()

    lines = []
    for kind in kinds:
        literals = templates[b.table[kind][0]]
        require(len(literals) == len(b.slots[kind]) + 1, "a template does not have the slots that a block says")
        lines.append(literals[0] + b"".join(next(columns[c]) + lit for c, lit in zip(b.slots[kind], literals[1:])))
    return [Row(*row) for row in zip(times, lines, row_texts(b.sections[5], b.sections[6], b.rows))]
