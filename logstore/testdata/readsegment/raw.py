"""Bytes and numbers, checksums and compression."""

from __future__ import annotations

import sys

try:
    from compression import zstd  # type: ignore[import-not-found]

    def decompress(p: bytes, size: int) -> bytes:
        return zstd.decompress(p)
except ImportError:
    try:
        import zstandard
    except ImportError:
        sys.exit("readsegment: needs Python 3.14, or the package zstandard (Debian: python3-zstandard)")

    def decompress(p: bytes, size: int) -> bytes:
        return zstandard.ZstdDecompressor().decompress(p, max_output_size=size)


class Damaged(Exception):
    """The bytes are not what was written."""


def require(ok: bool, what: str) -> None:
    if not ok:
        raise Damaged(what)


def _crc_table() -> list[int]:
    table = []
    for c in range(256):
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
        table.append(c)
    return table


CRC_TABLE = _crc_table()


def crc32c(p: bytes) -> int:
    c = 0xFFFFFFFF
    for b in p:
        c = CRC_TABLE[(c ^ b) & 0xFF] ^ c >> 8
    return c ^ 0xFFFFFFFF


def signed(u: int) -> int:
    """Takes the low 64 bits as a signed number."""
    u &= (1 << 64) - 1
    return u - (1 << 64) if u >> 63 else u


def unzigzag(u: int) -> int:
    return u >> 1 ^ -(u & 1)


class Bytes:
    """Takes numbers from the front of some bytes."""

    def __init__(self, p: bytes, what: str) -> None:
        self.p, self.at, self.what = p, 0, what

    def left(self) -> int:
        return len(self.p) - self.at

    def take(self, n: int) -> bytes:
        require(0 <= n <= self.left(), f"{self.what}: {n} bytes at {self.at}, of {len(self.p)}")
        self.at += n
        return self.p[self.at - n : self.at]

    def fixed(self, n: int) -> int:
        return int.from_bytes(self.take(n), "little")

    def fields(self, *sizes: int) -> list[int]:
        return [self.fixed(n) for n in sizes]

    def uvarint(self) -> int:
        u = shift = 0
        while True:
            b = self.fixed(1)
            u |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                require(u < 1 << 64, f"{self.what}: a number of more than 64 bits before {self.at}")
                return u

    def varint(self) -> int:
        return unzigzag(self.uvarint())

    def end(self) -> None:
        require(self.left() == 0, f"{self.what}: {self.left()} bytes too many")


def unzip(stored: bytes, raw: int, what: str) -> bytes:
    """Decompresses bytes that are a zstd frame if they are fewer than raw."""
    if len(stored) == raw:
        return stored
    try:
        p = decompress(stored, raw)
    except Exception as err:  # each module has an exception of its own
        raise Damaged(f"{what}: {err}") from err
    require(len(p) == raw, f"{what}: {len(p)} bytes; want {raw}")
    return p


def bits_at(p: bytes, bit: int, width: int) -> int:
    """Returns width bits, counted from the lowest of the first byte on."""
    end = bit + width
    return int.from_bytes(p[bit // 8 : (end + 7) // 8], "little") >> bit % 8 & (1 << width) - 1
