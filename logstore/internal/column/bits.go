package column

import "encoding/binary"

// A bitWriter packs numbers from the lowest bit of the first byte on.
type bitWriter struct {
	p   []byte
	acc uint64 // the last n bits, which are not yet in p
	n   uint
}

func (w *bitWriter) put(v uint64, width uint) {
	if width > 56 {
		w.put(v&(1<<32-1), 32)
		v >>= 32
		width -= 32
	}
	w.acc |= v << w.n
	w.n += width
	if w.n >= 32 {
		w.p = binary.LittleEndian.AppendUint32(w.p, uint32(w.acc))
		w.acc >>= 32
		w.n -= 32
	}
	for w.n >= 8 {
		w.p = append(w.p, byte(w.acc))
		w.acc >>= 8
		w.n -= 8
	}
}

// flush pads the last byte with zeros.
func (w *bitWriter) flush() {
	if w.n > 0 {
		w.p = append(w.p, byte(w.acc))
	}
	w.acc, w.n = 0, 0
}

// BitsAt returns the bits of p from bit on: at least 57, or all there are.
func BitsAt(p []byte, bit uint) uint64 {
	p = p[bit/8:]
	if len(p) >= 8 {
		return binary.LittleEndian.Uint64(p) >> (bit % 8)
	}
	var last [8]byte
	copy(last[:], p)
	return binary.LittleEndian.Uint64(last[:]) >> (bit % 8)
}

// numberAt returns the width bits of p from bit on. They lie within p.
func numberAt(p []byte, bit, width uint) uint64 {
	if width > 56 {
		return BitsAt(p, bit)&(1<<32-1) | numberAt(p, bit+32, width-32)<<32
	}
	return BitsAt(p, bit) & (1<<width - 1)
}

// unpack fills dst with numbers of width bits each: base + unit times the number.
// p has bytesFor(len(dst), width) bytes.
func unpack(dst []int64, p []byte, width uint, base, unit int64) {
	i, bit := 0, uint(0)
	if width <= 56 {
		mask := uint64(1)<<width - 1
		for ; i < len(dst) && int(bit/8)+8 <= len(p); i++ {
			dst[i] = base + unit*int64(binary.LittleEndian.Uint64(p[bit/8:])>>(bit%8)&mask)
			bit += width
		}
	}
	if width > 56 && width <= 64 {
		mask := ^uint64(0) >> (64 - width)
		for ; i < len(dst) && int(bit/8)+9 <= len(p); i++ {
			q := p[bit/8:][:9]
			dst[i] = base + unit*int64((binary.LittleEndian.Uint64(q)>>(bit%8)|uint64(q[8])<<(64-bit%8))&mask)
			bit += width
		}
	}
	for ; i < len(dst); i++ {
		dst[i] = base + unit*int64(numberAt(p, bit, width))
		bit += width
	}
}

// bytesFor returns the bytes of n numbers of width bits.
func bytesFor(n int, width uint) int { return (n*int(width) + 7) / 8 }
