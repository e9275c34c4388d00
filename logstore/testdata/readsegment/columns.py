"""The variables of lines: package logstore/internal/column."""

from __future__ import annotations

import datetime
import uuid

from huffman import huffman
from raw import Bytes, bits_at, require, signed, unzigzag


def ints(packed: Bytes, text: Bytes, n: int, nested: bool = False) -> list[int]:
    """Decodes a sequence of n integers."""
    head = packed.fixed(1)
    if head == 5 and not nested:
        distinct = ints(packed, text, packed.uvarint(), True)
        which = ints(packed, text, n, True)
        require(all(0 <= i < len(distinct) for i in which), "integers: which of the distinct ones")
        return [distinct[i] for i in which]
    form, order = head & 7, head >> 3 & 3
    base = packed.varint()
    unit = packed.uvarint() if head & 0x40 else 1
    if form == 0:
        return [base] * n
    if form == 1:
        width = packed.fixed(1)
        p = packed.take((n * width + 7) // 8)
        numbers = [bits_at(p, i * width, width) for i in range(n)]
    else:
        top = packed.uvarint()
        first = [packed.uvarint()] if order in (1, 2) else []
        u = symbols(packed, text, form, n - len(first), head & 0x20 != 0)
        numbers = [x & (1 << 64) - 1 for x in ordered(order, first, u, head & 0x80 != 0)]
        require(max(numbers) <= top, f"integers: more than {top}")
    return [signed(base + x * unit) for x in numbers]


def symbols(packed: Bytes, text: Bytes, form: int, n: int, direct: bool) -> list[int]:
    """Decodes n numbers that are symbols with extra bits."""
    if form == 2:
        p = huffman(Bytes(packed.take(packed.uvarint()), "Huffman code"), n)
    elif form == 3:
        p = text.take(n)
    else:
        require(form == 4, f"integers: form {form}")
        p = packed.take(1) * n
    if direct:
        return list(p)
    widths = [0 if s < 16 else s // 4 - 2 for s in p]
    extra, at, out = packed.take((sum(widths) + 7) // 8), 0, []
    for s, width in zip(p, widths):
        out.append(s if s < 16 else (4 + s % 4 << width) + bits_at(extra, at, width))
        at += width
    return out


def ordered(order: int, first: list[int], u: list[int], rising: bool) -> list[int]:
    """Makes numbers of what was written for them."""
    if order == 0:
        return u
    out, step = first, 0
    if order < 3:
        for x in u:
            x = x if rising and order == 1 else unzigzag(x)
            step = step + x if order == 2 else x
            out.append(out[-1] + step)
        return out
    recent: list[int] = []
    following = 0
    for x in u:
        if x < 15:
            require(x < len(recent), f"integers: rank {x} of {len(recent)}")
            v = recent.pop(x)
        else:
            v = following if x == 15 else x - 16
        following = max(following, v + 1)
        recent = [v] + recent[:14]
        out.append(v)
    return out


def column(packed: Bytes, text: Bytes, n: int, times: list[int]) -> list[bytes]:
    """Decodes a column of n values; times are those of their rows."""
    head = packed.fixed(1)
    kind = head & 0x1F
    if kind == 0:
        return [text.take(packed.uvarint())] * n
    if kind == 1:
        return texts(packed, text, n)
    if kind == 2:
        size = packed.uvarint()
        distinct = column(packed, text, size, [])
        which = ints(packed, text, n)
        require(all(0 <= i < size for i in which), "a dictionary: which of its values")
        return [distinct[i] for i in which]

    param = 16 if kind == 8 else 1
    if head & 0x20 or kind in (6, 9, 10, 11):
        param = packed.fixed(1)
    form = packed.fixed(1) if kind == 10 else 0
    literals = [text.take(packed.uvarint()) for _ in range(param + 1)] if kind == 11 else []
    missed = column(packed, text, packed.uvarint(), []) if head & 0x80 else []
    fit = n - len(missed)
    if kind in (3, 4, 5, 7):
        show = {3: "{:0{}d}", 4: "{:0{}x}", 5: "{:0{}X}"}
        values = [ip4(v) if kind == 7 else integer(v, param) if kind == 3 else show[kind].format(v % (1 << 64), param).encode()
                  for v in ints(packed, text, fit)]
    elif kind == 6:
        values = [decimal(v, param, short) for v, short in zip(ints(packed, text, fit), ints(packed, text, fit))]
    elif kind == 8:
        values = [str(uuid.UUID(bytes=packed.take(16))).encode() for _ in range(fit)]
    elif kind == 9:
        values = [packed.take(param).hex().encode() for _ in range(fit)]
    elif kind == 10:
        numbers = ints(packed, text, fit)
    else:
        require(kind == 11, f"a column of kind {kind}")
        parts = [column(packed, text, fit, []) for _ in range(param)]
        values = [literals[0] + b"".join(v + lit for v, lit in zip(row, literals[1:])) for row in zip(*parts)]
    misses = dict(zip(ints(packed, text, len(missed)), missed)) if missed else {}
    if kind == 10:
        values = line_times(param, form, [t for i, t in enumerate(times) if i not in misses], numbers)
    fitting = iter(values)
    return [misses[i] if i in misses else next(fitting) for i in range(n)]


def texts(packed: Bytes, text: Bytes, n: int) -> list[bytes]:
    mode = packed.fixed(1)
    if mode == 0:
        return [text.take(size) for size in ints(packed, text, n)]
    require(mode <= 3, f"texts: separator {mode}")
    out = text.take(packed.uvarint()).split([b"\n", b"\xff", b"\0"][mode - 1])
    require(len(out) == n + 1 and out[n] == b"", f"texts: {len(out) - 1}; want {n}")
    return out[:n]


def integer(v: int, width: int) -> bytes:
    return b"-" * (v < 0) + str(abs(v)).zfill(width).encode()


def decimal(v: int, scale: int, short: int) -> bytes:
    """Shows v / 10^scale, without the last short digits after the point."""
    scale -= short
    whole, part = divmod(abs(v) // 10**short, 10**scale)
    return b"-" * (v < 0) + str(whole).encode() + (b"." + str(part).zfill(scale).encode() if scale else b"")


def ip4(v: int) -> bytes:
    return ".".join(str(v >> shift & 255) for shift in (24, 16, 8, 0)).encode()


LAYOUTS = [
    "Y-m-dTH:M:S", "Y-m-d H:M:S", "Y/m/d H:M:S", "y/m/d H:M:S", "m-d H:M:S", "H:M:S", "Y-m-d_H:M:S", "ymd HMS",
    "Ymd HMS", "YmdTHMS", "d/b/Y:H:M:S", "d/b/Y H:M:S", "d b Y H:M:S", "b e H:M:S", "b d H:M:S", "a b e H:M:S Y",
    "a b d H:M:S Y", "a, d b Y H:M:S", "m/d/Y H:M:S", "d.m.Y H:M:S", "m.d H:M:S", "Y-m-d-H.M.S", "Ymd-H:M:S",
    "md H:M:S", "Y-m-d", "Y.m.d", "Y/m/d", "U",
]  # fmt: skip
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
DAYS = "Mon Tue Wed Thu Fri Sat Sun".split()
FRACTIONS = ["", ".", ",", ":", ""]


def line_times(layout: int, form: int, rows: list[int], numbers: list[int]) -> list[bytes]:
    """Shows times that are relative to those of their rows."""
    zulu, fraction, digits = form >> 7, form >> 4 & 7, form & 15
    require(layout < len(LAYOUTS) and fraction < len(FRACTIONS) and digits < 10, f"times: layout {layout}, form {form:#x}")
    require(len(rows) == len(numbers), "times: not as many as rows")
    letters = LAYOUTS[layout]
    per_second = 10**digits
    unit = 10**9 // per_second if "S" in letters or "U" in letters else 86400 * 10**9
    out = []
    for row, x in zip(rows, numbers):
        second, part = divmod((row // unit + x) * (86400 if unit > 10**9 else 1), per_second)
        require(0 <= second < 7_258_118_400, f"times: {second} s")
        t = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=second)
        show = {
            "Y": f"{t.year:04}", "y": f"{t.year % 100:02}", "m": f"{t.month:02}", "b": MONTHS[t.month - 1],
            "d": f"{t.day:02}", "e": f"{t.day:2}", "a": DAYS[t.weekday()],
            "H": f"{t.hour:02}", "M": f"{t.minute:02}", "S": f"{t.second:02}", "U": str(second),
        }  # fmt: skip
        if digits:
            for end in "SU":
                show[end] += FRACTIONS[fraction] + str(part).zfill(digits)
        out.append("".join(show.get(c, c) for c in letters).encode() + b"Z" * zulu)
    return out
