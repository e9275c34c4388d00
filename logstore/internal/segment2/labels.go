package segment2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"github.com/stele-go/stele/logstore/internal/filter"
)

var errLabels = errors.New("labels are not well-formed")

// appendKey appends the key of a stream.
func appendKey(dst []byte, tenant, labels string) []byte {
	dst = append(dst, byte(len(tenant)))
	return append(append(dst, tenant...), labels...)
}

// splitKey returns the tenant and the labels of a key.
func splitKey(key string) (tenant, labels string, ok bool) {
	if len(key) == 0 || len(key) < 1+int(key[0]) || len(key)-1-int(key[0]) > MaxLabels {
		return "", "", false
	}
	n := 1 + int(key[0])
	return key[1:n], key[n:], true
}

// WellFormed reports whether a segment may have these labels: pairs of a name and a
// value, none of them empty, each with its size before it, of at most MaxLabels bytes.
func WellFormed(labels string) bool {
	return len(labels) <= MaxLabels && eachLabel(labels, func(_, _, _ string) {})
}

// eachLabel calls f with each label of an encoding: the bytes of its name with
// the size before it, those of its value, and both. It reports whether the
// encoding is well-formed.
func eachLabel[T string | []byte](labels T, f func(name, value, both T)) bool {
	for len(labels) > 0 {
		name, n := cutSized(labels)
		value, m := cutSized(labels[n:])
		if n == 0 || m == 0 || len(name) == 0 || len(value) == 0 {
			return false
		}
		f(labels[:n], value, labels[:n+m])
		labels = labels[n+m:]
	}
	return true
}

// cutSized returns the text at the front of p that has its size before it,
// and how many bytes both take; 0 if there is none.
func cutSized[T string | []byte](p T) (s T, n int) {
	size, shift := 0, 0
	for i := range min(len(p), 3) { // MaxLabels needs no more
		size |= int(p[i]&0x7f) << shift
		if p[i] < 0x80 {
			if size > len(p)-i-1 {
				return s, 0
			}
			return p[i+1 : i+1+size], i + 1 + size
		}
		shift += 7
	}
	return s, 0
}

// appendKeys appends the keys of a chunk, which are in order.
func appendKeys(dst []byte, keys []string) []byte {
	var w prefixWriter
	for _, k := range keys {
		dst = w.append(dst, []byte(k))
	}
	return dst
}

// parseKeys decodes the keys of a chunk of so many streams.
func parseKeys(p []byte, streams int) ([]string, error) {
	c := decoder{p: p}
	var r prefixReader
	buf := getBuffer(0)
	defer buf.put()
	all := buf.p
	defer func() { buf.p = all }()
	ends := make([]int, 0, min(streams, len(p)/2))
	for range streams {
		key := r.next(&c, maxKey)
		if c.bad || streams > 1 && len(all)+len(key) > chunkBytes {
			return nil, errForm
		}
		all = append(all, key...)
		ends = append(ends, len(all))
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	keys, text, at := make([]string, streams), string(all), 0
	for i, end := range ends {
		keys[i] = text[at:end]
		if _, _, ok := splitKey(keys[i]); !ok {
			return nil, errLabels
		}
		if i > 0 && keys[i] <= keys[i-1] {
			return nil, fmt.Errorf("stream %d of the chunk: %w: not in order", i, errLabels)
		}
		at = end
	}
	return keys, nil
}

// parseChunk verifies the label frame at offset off and returns its keys.
func parseChunk(p []byte, salt uint64, off int64) (f labelFrame, keys []string, err error) {
	f, ok := parseLabelFrame(p, salt, off)
	if !ok || int64(len(p)) < f.size() {
		return f, nil, errors.New("the header of the labels is not as it was written")
	}
	stored := p[labelHeaderSize:f.size()]
	if checksum(stored) != f.sum {
		return f, nil, errors.New("the checksum of the labels does not match")
	}
	raw, err := unzip(nil, stored, int(f.raw))
	if err != nil {
		return f, nil, err
	}
	keys, err = parseKeys(raw, int(f.streams))
	return f, keys, err
}

// A chunkEntry is the entry of a chunk in the label directory.
type chunkEntry struct {
	off       int64  // of the frame
	stored    uint32 // bytes of the keys
	first     uint32 // ordinal
	streams   uint32
	separator string // no key of the chunk precedes it, and all keys before do
}

func (e chunkEntry) bytes() int64 { return labelHeaderSize + int64(e.stored) }

// separator returns the shortest prefix of key that follows last, a lower key.
func separator(last, key []byte) string {
	n := 0
	for n < len(last) && last[n] == key[n] { // key is not a prefix of last
		n++
	}
	return string(key[:n+1])
}

// appendDirectory appends the label directory.
func appendDirectory(dst []byte, entries []chunkEntry) []byte {
	w := prefixWriter{restarts: true}
	for _, e := range entries {
		dst = binary.AppendUvarint(dst, uint64(e.stored))
		dst = binary.AppendUvarint(dst, uint64(e.streams))
		dst = w.append(dst, []byte(e.separator))
	}
	return dst
}

// minChunkEntry is the least that a chunk takes in the directory.
const minChunkEntry = 4

// parseDirectory decodes the label directory of a segment with so many streams.
func parseDirectory(p []byte, streams int) ([]chunkEntry, error) {
	list := make([]chunkEntry, 0, min(len(p)/minChunkEntry, streams))
	c, r := decoder{p: p}, prefixReader{restarts: true}
	off, first := int64(headerSize), 0
	for c.left() > 0 {
		e := chunkEntry{
			off: off, stored: uint32(c.atMost(MaxRead)), first: uint32(first),
			streams: uint32(c.atMost(uint64(min(streams-first, chunkStreams)))), separator: string(r.next(&c, maxKey)),
		}
		n := len(list)
		if c.bad || e.streams == 0 || e.stored == 0 || n > 0 && e.separator <= list[n-1].separator {
			return nil, errForm
		}
		off += e.bytes()
		first += int(e.streams)
		list = append(list, e)
	}
	if c.bad || first != streams {
		return nil, errForm
	}
	return list, nil
}

// chunkOfKey returns the number of the only chunk that may have a key, or -1.
func chunkOfKey(directory []chunkEntry, key string) int {
	return sort.Search(len(directory), func(i int) bool { return directory[i].separator > key }) - 1
}

// chunkOf returns the number of the chunk that has an ordinal.
func chunkOf(directory []chunkEntry, ordinal uint32) int {
	return sort.Search(len(directory), func(i int) bool { return directory[i].first > ordinal }) - 1
}

// parseFilters decodes a part of the label directory that has the filters of so
// many chunks. They are parts of p.
func parseFilters(p []byte, chunks int) ([][]byte, error) {
	c := decoder{p: p}
	list := make([][]byte, 0, min(chunks, len(p)))
	for range chunks {
		set := c.sized()
		if c.bad || !filter.IsSet(set) {
			return nil, errForm
		}
		list = append(list, set)
	}
	return list, c.end()
}

// labelKeyOf returns the key that the filter of a chunk has of each label, and
// with the value "" of each name.
func labelKeyOf(name, value string) uint64 {
	enc := append(binary.AppendUvarint(make([]byte, 0, 128), uint64(len(name))), name...)
	if value != "" {
		enc = append(binary.AppendUvarint(enc, uint64(len(value))), value...)
	}
	return filter.KeyOf(enc)
}

// A chunkBuilder collects the keys of a chunk.
type chunkBuilder struct {
	keys    []byte // encoded
	streams int
	bytes   int // of the keys, without sharing
	prefix  prefixWriter
	set     filter.SetBuilder
}

// fits reports whether a key of so many bytes may join the chunk.
func (b *chunkBuilder) fits(bytes int) bool {
	return b.streams == 0 || b.streams < chunkStreams && b.bytes+bytes <= chunkBytes
}

// add adds a key. Its labels, which are well-formed, go into the filter, by
// addLabel.
func (b *chunkBuilder) add(key []byte) {
	b.keys = b.prefix.append(b.keys, key)
	b.streams++
	b.bytes += len(key)
}

func (b *chunkBuilder) addLabel(name, both string) {
	b.set.Add(filter.KeyOf(name))
	b.set.Add(filter.KeyOf(both))
}

func (b *chunkBuilder) reset() {
	b.keys, b.streams, b.bytes = b.keys[:0], 0, 0
	b.prefix.reset()
}
