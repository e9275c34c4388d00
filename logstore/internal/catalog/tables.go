package catalog

import "slices"

// tableBytes bounds the memory of the tables of segments of version 1, beside half
// of Options.CacheBytes. It is enough for 1,024 segments of 400 streams.
const tableBytes = 48 << 20

// A segment of version 1 has one table of all its streams, which is read whole on
// each first use. A tableList holds the open ones that may have read theirs, the
// one that was used first at the front, and frees tables beyond a limit. Those
// that are in use stay valid, and are not counted for so long.
type tableList struct {
	parts        *partCache // gives up what tables take
	limit, bytes int64
	handles      []*handle
}

// tables is about how many bytes of memory the tables of a segment of version 1
// take.
func (h *handle) tables() int64 { return 100*int64(h.file.info.Streams) + 44*int64(h.file.info.Blocks) }

// listTables adds the handle to the list, and frees the tables of others.
func (t *fileCache) listTables(h *handle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !h.listed.Swap(true) {
		t.loaded.add(h)
	}
}

func (t *fileCache) tableBytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loaded.bytes
}

// trim frees the tables of a handle, which are read again on demand.
func (t *fileCache) trim(h *handle) {
	if h.seg == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loaded.remove(h)
	h.seg.Trim()
}

func (l *tableList) add(h *handle) {
	l.handles = append(l.handles, h)
	l.bytes += h.tables()
	l.parts.yield(h.tables())
	for len(l.handles) > 1 && l.bytes > l.limit {
		first := l.handles[0]
		l.remove(first)
		first.seg.Trim()
	}
}

func (l *tableList) remove(h *handle) {
	if i := slices.Index(l.handles, h); i >= 0 {
		l.handles = slices.Delete(l.handles, i, i+1)
		l.bytes -= h.tables()
		l.parts.yield(-h.tables())
		h.listed.Store(false)
	}
}
