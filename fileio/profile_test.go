package fileio_test

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/profile"
)

// A Reader takes buffer and readahead from the profile if they are not set. Its ways are
// tested with Auto, and the fields of a Writer with the Writer.
func TestReaderProfile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, 4<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	p := &profile.Profile{Read: profile.Read{BufferSize: 256 << 10, Readahead: 512 << 10}}
	for _, c := range []struct {
		name   string
		o      fileio.Options
		buffer int64
		window bool
	}{
		{"no profile", fileio.Options{}, 128 << 10, false},
		{"profile", fileio.Options{Profile: p}, 256 << 10, true},
		{"buffer set", fileio.Options{Profile: p, BufferSize: 64 << 10}, 64 << 10, true},
		{"readahead set", fileio.Options{Profile: p, Readahead: fileio.ReadaheadKernel}, 256 << 10, false},
	} {
		var largest int64
		c.o.Pattern = fileio.Sequential
		c.o.Trace = func(op fileio.Op) {
			if op.Kind == fileio.OpRead {
				largest = max(largest, op.Bytes)
			}
		}
		r, err := fileio.Open(name, c.o)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 16<<10)
		for range 100 {
			if _, err := io.ReadFull(r, buf); err != nil {
				t.Fatal(err)
			}
		}
		window := r.Stats().Window
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if largest != c.buffer {
			t.Errorf("%s: reads of %d bytes, want %d", c.name, largest, c.buffer)
		}
		if runtime.GOOS == "linux" && (window > 0) != c.window || window > 512<<10 {
			t.Errorf("%s: a window of %d bytes", c.name, window)
		}
	}
}
