package segment2

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// paritySize is the size of the exclusive or of sizes before that of frames.
const paritySize = 4

// A parity has the exclusive or of label frames. Chunk i belongs to group i mod
// G. While G is not known, frames are collected in maxParity groups: as G
// divides that number, groups are then joined.
type parity struct {
	groups [][]byte // of each, the parity part; none that would be zeros
	chunks int
}

// parityGroups returns G for so many chunks.
func parityGroups(chunks int) int {
	g := 1
	for g < maxParity && g*parityChunks < chunks {
		g *= 2
	}
	return g
}

// add adds the frame of the next chunk.
func (y *parity) add(frame []byte) {
	i := y.chunks % maxParity
	if i == len(y.groups) {
		y.groups = append(y.groups, make([]byte, paritySize))
	}
	y.groups[i] = xorInto(y.groups[i], uint32(len(frame)), frame)
	y.chunks++
}

// join leaves G groups, and returns their parts; none without chunks.
func (y *parity) join() [][]byte {
	g := min(parityGroups(y.chunks), len(y.groups))
	for i, p := range y.groups[g:] {
		to := i % g
		y.groups[to] = xorInto(y.groups[to], binary.LittleEndian.Uint32(p), p[paritySize:])
	}
	y.groups = y.groups[:g]
	return y.groups
}

// xorInto adds a frame, or the exclusive or of several, to a part.
func xorInto(part []byte, size uint32, frame []byte) []byte {
	if n := paritySize + len(frame) - len(part); n > 0 {
		part = append(part, make([]byte, n)...)
	}
	binary.LittleEndian.PutUint32(part, binary.LittleEndian.Uint32(part)^size)
	body := part[paritySize : paritySize+len(frame)]
	subtle.XORBytes(body, body, frame)
	return part
}

// rebuildFrame returns the frame of a chunk from the parity part of its group
// and the frames of the others, which read returns, verified. If another one
// cannot be read either, the error names the ordinals of both.
func rebuildFrame(directory []chunkEntry, chunk int, part []byte, read func(chunk int) ([]byte, error)) ([]byte, error) {
	if len(part) < paritySize {
		return nil, errForm
	}
	p := slices.Clone(part)
	g := parityGroups(len(directory))
	for other := chunk % g; other < len(directory); other += g {
		if other == chunk {
			continue
		}
		frame, err := read(other)
		if err != nil {
			a, b := directory[chunk], directory[other]
			return nil, fmt.Errorf("the labels of the streams %d to %d cannot be rebuilt, as those of %d to %d are damaged too: %w",
				a.first, a.first+a.streams-1, b.first, b.first+b.streams-1, err)
		}
		if len(frame) > len(p)-paritySize {
			return nil, errForm
		}
		p = xorInto(p, uint32(len(frame)), frame)
	}
	size := int64(binary.LittleEndian.Uint32(p))
	frame := p[paritySize:]
	if size != directory[chunk].bytes() || size > int64(len(frame)) || slices.ContainsFunc(frame[size:], func(b byte) bool { return b != 0 }) {
		return nil, errors.New("the parity of the labels is not that of their frames")
	}
	return frame[:size], nil
}
