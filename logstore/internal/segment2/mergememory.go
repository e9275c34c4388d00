package segment2

import "unsafe"

// About the bytes of memory that a merge takes: of a source; of a stream of a source,
// more of one of version 1, beside its tables; of a stream of the new segment; and of
// the blocks that are merged at a time, with their encoder and the Writer.
const (
	MergeSourceBytes  = 512 << 10
	MergeStreamBytes  = 4
	mergeStream1Bytes = 50
	MergedStreamBytes = 24
	MergeBlockBytes   = 6 << 20
)

// tellMemory calls MergeOptions.Memory.
func (m *merger) tellMemory() {
	if m.o.Memory == nil {
		return
	}
	n := m.w.Memory() + max(MergeBlockBytes, m.blocks.memory()) + m.madeBytes + 2*int64(cap(m.first)) + int64(cap(m.runs))*runBytes +
		int64(cap(m.units))*int64(unsafe.Sizeof(mergeUnit{})) + int64(cap(m.written))*int64(unsafe.Sizeof([]blockID{}))
	// Each block of a source is in a unit or written.
	n += int64(len(m.units)+len(m.written)) * int64(unsafe.Sizeof(blockID{}))
	for _, s := range m.sources {
		n += MergeSourceBytes + MergeStreamBytes*int64(cap(s.ordinals))
		if s.dictionary != nil {
			n += s.dictionary.Weight()
		}
		if !s.version2 {
			n += mergeStream1Bytes * int64(len(s.ordinals))
		}
	}
	m.o.Memory(n)
}
