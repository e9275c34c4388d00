package segment2

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// A labelsWriter writes label frames, and collects the sections about labels.
type labelsWriter struct {
	out  *output
	zip  *zipper
	salt uint64

	count     int // streams so far
	last, key []byte
	chunk     chunkBuilder
	separator string // of the chunk
	frame     []byte // scratch
	set       []byte

	directory  []chunkEntry
	separators int          // bytes
	filters    []byte       // of the chunks since the last part
	parts      []storedPart // of filters
	parity     parity
	keys       streamKeys
	postings   *postings
	tenants    []tenantRange
}

// add adds a stream, whose key must follow all before.
func (l *labelsWriter) add(tenant, labels string) error {
	if len(labels) > MaxLabels || len(tenant) > MaxTenant {
		return fmt.Errorf("stream %d: %d bytes of labels of a tenant whose name has %d; want at most %d and %d", l.count, len(labels), len(tenant), MaxLabels, MaxTenant)
	}
	if uint64(l.count) == math.MaxUint32 {
		return fmt.Errorf("more than %d streams", l.count)
	}
	l.key = appendKey(l.key[:0], tenant, labels)
	if l.count > 0 && string(l.key) <= string(l.last) {
		return fmt.Errorf("stream %d: its labels do not follow those of the stream before; want streams in the order of labels, and tenants in that of the lengths of their names, then of the names", l.count)
	}
	if !l.chunk.fits(len(l.key)) {
		if err := l.cut(); err != nil {
			return err
		}
	}
	if l.chunk.streams == 0 && l.count > 0 {
		l.separator = separator(l.last, l.key)
	}
	i := 0
	ok := eachLabel(labels, func(name, value, both string) {
		l.chunk.addLabel(name, both)
		text, _ := cutSized(name)
		l.postings.add(i, text, value, uint32(l.count))
		i++
	})
	if !ok {
		return fmt.Errorf("stream %d: %w", l.count, errLabels)
	}
	l.chunk.add(l.key)
	l.keys.add(l.key)
	if n := len(l.tenants); n == 0 || l.tenants[n-1].tenant != tenant {
		l.tenants = append(l.tenants, tenantRange{tenant: tenant})
	}
	l.tenants[len(l.tenants)-1].streams++
	l.last, l.key = l.key, l.last
	l.count++
	return l.out.err
}

// memory returns about how many bytes of memory the labels take.
func (l *labelsWriter) memory() int64 {
	n := int64(cap(l.directory))*int64(unsafe.Sizeof(chunkEntry{})) + int64(l.separators) + int64(cap(l.filters)) +
		partsMemory(l.parts) + l.keys.memory()
	for _, p := range l.parity.groups {
		n += int64(cap(p))
	}
	if l.postings != nil {
		n += int64(l.postings.memory)
	}
	return n
}

// cut writes the chunk.
func (l *labelsWriter) cut() error {
	b := &l.chunk
	off := l.out.size()
	head := labelFrame{
		number: uint32(len(l.directory)), raw: uint32(len(b.keys)), first: uint32(l.count - b.streams), streams: uint32(b.streams),
	}
	l.frame = append(l.frame[:0], make([]byte, labelHeaderSize)...)
	frame, err := l.zip.append(l.frame, b.keys)
	if err != nil {
		return err
	}
	l.frame = frame
	stored := frame[labelHeaderSize:]
	head.stored, head.sum = uint32(len(stored)), checksum(stored)
	head.append(frame[:0], l.salt, off)
	l.out.put(frame)
	l.parity.add(frame)
	l.directory = append(l.directory, chunkEntry{off: off, stored: head.stored, first: head.first, streams: head.streams, separator: l.separator})
	l.set = b.set.Append(l.set[:0])
	l.filters = append(binary.AppendUvarint(l.filters, uint64(len(l.set))), l.set...)
	l.separators += len(l.separator)
	b.reset()
	if len(l.directory)%filterChunks == 0 {
		return l.endFilters()
	}
	return nil
}

// endFilters ends a part of the filters.
func (l *labelsWriter) endFilters() error {
	part, err := l.zip.store(l.filters)
	l.parts = append(l.parts, part)
	l.filters = l.filters[:0]
	return err
}

// A labelSections is the sections about labels, as they will be stored.
type labelSections struct {
	directory, parity, postings, filter []storedPart
	chunks, names                       int
	summary                             *summary
	tenants                             []tenantRange
}

// finish writes the last chunk and returns the sections. It frees what only they
// needed.
func (l *labelsWriter) finish() (*labelSections, error) {
	if l.chunk.streams > 0 {
		if err := l.cut(); err != nil {
			return nil, err
		}
	}
	if len(l.filters) > 0 {
		if err := l.endFilters(); err != nil {
			return nil, err
		}
	}
	s := &labelSections{chunks: len(l.directory), tenants: l.tenants, summary: newSummary(l.postings)}
	directory, err := l.zip.store(appendDirectory(nil, l.directory))
	if err != nil {
		return nil, err
	}
	s.directory = append([]storedPart{directory}, l.parts...)
	for _, p := range l.parity.join() {
		s.parity = append(s.parity, storedPart{slices.Clip(p), len(p)})
	}
	for _, p := range l.keys.sets() {
		s.filter = append(s.filter, storedPart{p, len(p)})
	}
	s.postings = make([]storedPart, 1)
	list, names := l.postings.parts(func(p []byte) {
		part, zipErr := l.zip.store(p)
		if err == nil {
			err = zipErr
		}
		s.postings = append(s.postings, part)
	})
	if err != nil {
		return nil, err
	}
	s.postings[0], err = l.zip.store(list)
	s.names = names
	*l = labelsWriter{count: l.count}
	return s, err
}
