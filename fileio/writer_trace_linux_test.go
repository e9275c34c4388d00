package fileio_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/tracetest"
	"github.com/stele-go/stele/profile"
)

var directProfile = &profile.Profile{Write: profile.Write{Way: "direct"}}

// writing returns a scenario: a file, a writer, and the calls of it.
func writing(o fileio.WriterOptions, do func(w *fileio.Writer) error) scenario {
	o.BufferSize = 64 << 10
	return func(root string) (func() error, error) {
		f, err := os.Create(filepath.Join(root, "file"))
		if err != nil {
			return nil, err
		}
		w, err := fileio.NewWriter(f, o)
		if err != nil {
			return nil, err
		}
		return func() error { return do(w) }, nil
	}
}

// twoCommitted writes two records and commits each.
func twoCommitted(w *fileio.Writer) error {
	for range 2 {
		if _, err := w.Write(record); err != nil {
			return err
		}
		if err := w.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// three writes three records.
func three(w *fileio.Writer) error {
	for range 3 {
		if _, err := w.Write(record); err != nil {
			return err
		}
	}
	return nil
}

func closed(do func(w *fileio.Writer) error) func(w *fileio.Writer) error {
	return func(w *fileio.Writer) error { return errors.Join(do(w), w.Close()) }
}

// large writes a record, and then more than the size of the buffer.
func large(w *fileio.Writer) error {
	if _, err := w.Write(record); err != nil {
		return err
	}
	if _, err := w.Write(make([]byte, 100_000)); err != nil {
		return err
	}
	return w.Commit()
}

// traces are the golden ones; calls is beside the file, which an update
// overwrites.
var traces = []struct {
	name  string
	o     fileio.WriterOptions
	do    func(w *fileio.Writer) error
	calls int
}{
	{"commit-fdatasync", fileio.WriterOptions{}, twoCommitted, 4},
	{"commit-fsync", fileio.WriterOptions{Sync: fileio.SyncFsync}, twoCommitted, 4},
	{"commit-dsync", fileio.WriterOptions{Sync: fileio.SyncDsync}, twoCommitted, 2},
	{"commit-o_dsync", fileio.WriterOptions{Sync: fileio.SyncODsync}, twoCommitted, 2},
	{"commit-sync_file_range", fileio.WriterOptions{Sync: fileio.SyncRange}, twoCommitted, 4},
	{"each-fdatasync", fileio.WriterOptions{Policy: fileio.EachWrite()}, three, 6},
	{"each-dsync", fileio.WriterOptions{Policy: fileio.EachWrite(), Sync: fileio.SyncDsync}, three, 3},
	{"each-o_dsync", fileio.WriterOptions{Policy: fileio.EachWrite(), Sync: fileio.SyncODsync}, three, 3},
	{"bytes-fdatasync", fileio.WriterOptions{Policy: fileio.EveryBytes(3000)}, three, 2},
	{"bytes-dsync", fileio.WriterOptions{Policy: fileio.EveryBytes(3000), Sync: fileio.SyncDsync}, three, 1},
	{"never", fileio.WriterOptions{Policy: fileio.Never()}, twoCommitted, 2},
	{"large", fileio.WriterOptions{}, large, 2},
	{"large-dsync", fileio.WriterOptions{Sync: fileio.SyncDsync}, large, 2},
	{"close", fileio.WriterOptions{}, closed(three), 3},
	{"close-dsync", fileio.WriterOptions{Sync: fileio.SyncDsync}, closed(three), 2},
	{"close-never", fileio.WriterOptions{Policy: fileio.Never()}, closed(three), 2},
	{"close-preallocated", fileio.WriterOptions{Preallocate: 1 << 20}, closed(three), 6},
	{"direct", fileio.WriterOptions{Way: fileio.Direct}, closed(large), 0},
	{"direct-dsync", fileio.WriterOptions{Way: fileio.Direct, Sync: fileio.SyncDsync}, closed(twoCommitted), 0},
	{"uncached", fileio.WriterOptions{Way: fileio.Uncached}, twoCommitted, 4},
}

func init() {
	for _, tr := range traces {
		scenarios["write-"+tr.name] = writing(tr.o, tr.do)
	}
}

const writeCalls = "write,pwrite64,pwritev,pwritev2,fsync,fdatasync,sync_file_range,fallocate,ftruncate,copy_file_range,lseek,fstat,close"

var traceRules = []tracetest.Rule{
	{Find: regexp.MustCompile(`\{st_mode.*\}`), By: "{...}"},
	{Find: regexp.MustCompile(`"(?:[^"\\]|\\.)*"\.\.\.`), By: "DATA"},
	// Not every strace knows the flag's name.
	{Find: regexp.MustCompile(`0x80 /\* RWF_\?\?\? \*/`), By: "RWF_DONTCACHE"},
}

func TestWriterTraces(t *testing.T) {
	tracetest.Need(t, writeCalls)
	dir := t.TempDir()
	image, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 64 << 20, Store: t.TempDir()})
	if err == nil { // an ext4, where all ways work
		defer image.Close()
		dir = image.Path
	}
	for _, c := range traces {
		t.Run(c.name, func(t *testing.T) {
			if err != nil && (c.o.Way == fileio.Uncached || c.o.Way == fileio.Direct) {
				t.Skip("needs an ext4: ", err)
			}
			root, err := os.MkdirTemp(dir, "root")
			ok(t, err)
			tr := traced(t, "write-"+c.name, root, writeCalls)
			if tr.Exit != exitOK {
				t.Fatal(tr.Said)
			}
			if n := len(tr.Calls()); c.calls != 0 && n != c.calls {
				t.Errorf("%d calls, want %d", n, c.calls)
			}
			tracetest.Golden(t, "write-"+c.name, tr.Normal(root, traceRules...), *update)
		})
	}
}

// A write or a sync that fails is final: the error names the file, only close and lseek
// come after it, and every later call of the Writer fails.
func TestWriterFaults(t *testing.T) {
	tracetest.Need(t, writeCalls)
	for _, c := range []struct{ scenario, call, fault, want string }{
		{"commit-fdatasync", "fdatasync", "EIO", "fdatasync"},
		{"commit-fdatasync", "fdatasync", "ENOSPC", "fdatasync"},
		{"commit-fsync", "fsync", "EIO", "fsync"},
		{"commit-fdatasync", "pwrite64", "ENOSPC", "write"},
		{"commit-fdatasync", "pwrite64", "EIO", "write"},
		{"commit-dsync", "pwritev2", "EIO", "write"},
		{"commit-dsync", "pwritev2", "EDQUOT", "write"},
		{"commit-o_dsync", "pwrite64", "EIO", "write"},
		{"commit-sync_file_range", "sync_file_range", "EIO", "sync_file_range"},
		{"each-fdatasync", "fdatasync", "EIO", "fdatasync"},
		{"each-dsync", "pwritev2", "EIO", "write"},
		{"bytes-fdatasync", "fdatasync", "EIO", "fdatasync"},
		{"close", "fdatasync", "EIO", "fdatasync"},
		{"close-never", "pwrite64", "EIO", "write"},
		{"close-preallocated", "ftruncate", "EIO", "truncate"},
		{"large", "pwritev", "ENOSPC", "write"},
		{"direct", "pwrite64", "EINVAL", "write"},
		{"direct", "fdatasync", "EIO", "fdatasync"},
	} {
		t.Run(strings.Join([]string{c.scenario, c.call, c.fault}, "/"), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			tr := traced(t, "write-"+c.scenario, root, writeCalls, c.call+":error="+c.fault)
			if tr.Exit != exitFailed || !strings.Contains(tr.Said, c.want+" "+root) {
				t.Fatalf("exit %d, %s", tr.Exit, tr.Said)
			}
			failed := false
			for _, call := range tr.Calls() {
				switch {
				case strings.Contains(call.Line, "(INJECTED)"):
					failed = true
				case failed && call.Name != "lseek" && call.Name != "close" && call.Name != "fstat":
					t.Errorf("after the fault: %s", call.Line)
				}
			}
			if !failed {
				t.Errorf("no fault in\n%s", tr.Raw)
			}
		})
	}
}

// Where a flag is unknown the writer goes on without it, and keeps its promise.
func TestWriterFallback(t *testing.T) {
	tracetest.Need(t, writeCalls)
	for _, c := range []struct {
		scenario string
		want     map[string]int
	}{
		{"commit-dsync", map[string]int{"pwritev2": 1, "pwrite64": 2, "fdatasync": 2}},
		{"each-dsync", map[string]int{"pwritev2": 1, "pwrite64": 3, "fdatasync": 3}},
		{"uncached", map[string]int{"pwritev2": 1, "pwrite64": 2, "fdatasync": 2}},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			tr := traced(t, "write-"+c.scenario, root, writeCalls, "pwritev2:error=EOPNOTSUPP")
			if tr.Exit != exitOK || fmt.Sprint(tr.Count()) != fmt.Sprint(c.want) {
				t.Errorf("exit %d, %s\n%s", tr.Exit, tr.Said, tr.Raw)
			}
		})
	}
}

// After a short write the writer continues from there. (strace does not make the call:
// the bytes that it reports as written are a hole.)
func TestWriterShort(t *testing.T) {
	tracetest.Need(t, writeCalls)
	root := t.TempDir()
	tr := traced(t, "write-large", root, writeCalls, "pwritev:retval=700:when=1")
	if tr.Exit != exitOK {
		t.Fatal(tr.Said)
	}
	if n := tr.Count(); n["pwritev"] != 2 || n["fdatasync"] != 1 {
		t.Errorf("%v\n%s", n, tr.Raw)
	}
	want := append(make([]byte, 700), record[700:]...)
	holds(t, filepath.Join(root, "file"), append(want, make([]byte, 100_000)...))
}
