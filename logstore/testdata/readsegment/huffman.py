"""Huffman codes as zstd has them: RFC 8878, section 4.2."""

from __future__ import annotations

from raw import Bytes, bits_at, require


def backward(p: bytes, what: str) -> str:
    """Returns the bits of p as they are read: from the last one before the marker back."""
    require(len(p) > 0 and p[-1] > 0, f"{what}: a stream of bits without its last one")
    return bin(int.from_bytes(p, "little"))[3:]


def fse_weights(p: bytes) -> list[int]:
    """Decodes weights that are compressed with FSE: RFC 8878, sections 4.1 and 4.2.1.2."""
    bit = 4
    log = bits_at(p, 0, 4) + 5
    require(log <= 6, f"Huffman weights: accuracy {log}; want at most 6")
    left, counts = 1 << log, []
    while left > 0:
        require(bit < 8 * len(p), "Huffman weights: the probabilities do not end")
        width = (left + 1).bit_length()
        short = (1 << width) - 2 - left  # so many values take a bit less
        v = bits_at(p, bit, width - 1)
        if v < short:
            bit += width - 1
        else:
            v = bits_at(p, bit, width)
            bit += width
            if v >> width - 1:
                v -= short
        counts.append(v - 1)
        left -= abs(v - 1)
        more = 3 if v == 1 else 0
        while more == 3:
            more = bits_at(p, bit, 2)
            bit += 2
            counts += [0] * more
    require(left == 0 and len(counts) <= 256, "Huffman weights: the probabilities")

    size = 1 << log
    rare = [s for s, n in enumerate(counts) if n < 0]
    symbols = [0] * (size - len(rare)) + rare[::-1]
    at = 0
    for s, n in enumerate(counts):
        for _ in range(n):
            symbols[at] = s
            at = (at + (size >> 1) + (size >> 3) + 3) % size
            while at >= size - len(rare):
                at = (at + (size >> 1) + (size >> 3) + 3) % size
    following = [abs(n) for n in counts]
    states = []  # of each: its symbol, the bits that the next state is read from, and what they are added to
    for s in symbols:
        width = log + 1 - following[s].bit_length()
        states.append((s, width, (following[s] << width) - size))
        following[s] += 1

    stream = backward(p[(bit + 7) // 8 :], "Huffman weights")
    at = 2 * log
    require(at <= len(stream), "Huffman weights: no states")
    turn, other = int(stream[:log], 2), int(stream[log:at], 2)
    weights: list[int] = []
    while len(weights) < 256:
        s, width, base = states[turn]
        weights.append(s)
        if at + width > len(stream):
            weights.append(states[other][0])
            break
        turn, other = other, base + int(stream[at : at + width] or "0", 2)
        at += width
    return weights


def huffman(p: Bytes, n: int) -> bytes:
    """Decodes n symbols: a tree description, and one stream."""
    size = p.fixed(1)
    if size < 128:
        weights = fse_weights(p.take(size))
    else:
        packed = p.take((size - 126) // 2)
        weights = [packed[i // 2] >> (0 if i % 2 else 4) & 15 for i in range(size - 127)]
    total = sum(1 << w - 1 for w in weights if w)
    require(total > 0, "Huffman weights: none")
    most = total.bit_length()
    last = (1 << most) - total
    require(last & last - 1 == 0 and most <= 12, f"Huffman weights: {total} in all")
    weights.append(last.bit_length())
    codes: list[tuple[int, int]] = []  # by the next bits: the symbol, and how many of them it has
    for w in range(1, most + 1):
        for s, of in enumerate(weights):
            if of == w:
                codes += [(s, most + 1 - w)] * (1 << w - 1)
    stream = backward(p.take(p.left()), "Huffman code")
    end = len(stream)
    stream += "0" * most
    out, at = bytearray(), 0
    for _ in range(n):
        s, width = codes[int(stream[at : at + most], 2)]
        out.append(s)
        at += width
    require(at == end, f"Huffman code: {at} bits; want {end}")
    return bytes(out)
