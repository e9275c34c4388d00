package logstore

import (
	"fmt"
	"path/filepath"
	"testing"
)

// columnOptions are those of a store with columns and entries of any time.
func columnOptions() Options {
	o := anyTime()
	o.Codec = CodecColumns
	return o
}

// mustAppendLines appends lines, of which each has its number as its time, by turns to some streams.
func mustAppendLines(t *testing.T, s *Store, lines []string, streams int) {
	t.Helper()
	b := make(Batch, streams)
	for i := range b {
		b[i].Labels = MustLabels("stream", fmt.Sprint(i))
	}
	for i, l := range lines {
		of := &b[i%streams]
		of.Entries = append(of.Entries, Entry{Time: int64(i), Line: []byte(l)})
	}
	mustAppend(t, s, b)
}

// sealedColumns makes a store of one segment with lines in columns, see mustAppendLines. It is
// closed, and file is the segment.
func sealedColumns(t *testing.T, lines []string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	s := openTest(t, dir, columnOptions())
	mustAppendLines(t, s, lines, 1)
	mustDo(t, s.Seal(t.Context()))
	mustDo(t, s.Close())
	return dir, mustFindSegments(t, dir, 1)[0]
}

// mustFindSegments returns the files of the segments of a store, which has n.
func mustFindSegments(t *testing.T, dir string, n int) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "segments", "*.seg"))
	if err != nil || len(files) != n {
		t.Fatalf("%v: %v; want %d segments", files, err, n)
	}
	return files
}
