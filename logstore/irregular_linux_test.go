package logstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/logstore"
)

// A file that is not regular, under a name of the store, is reported at once
// and stays where it is.
func TestIrregular(t *testing.T) {
	t.Chdir(t.TempDir()) // a socket's path is short
	segment := filepath.Join("segments", "0000000000000000-0000000000000002-00000000.seg")
	for kind, put := range filetest.Irregular(t) {
		for _, name := range []string{segment, filepath.Join("segments", "x.part"), filepath.Join("quarantine", "x.part"), filepath.Join("wal", "META")} {
			dir := strings.ReplaceAll(kind+" "+filepath.Dir(name)+filepath.Ext(name), " ", "-")
			s, err := logstore.Open(dir, logstore.Options{MinFree: 1})
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			os.Remove(path)
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			was, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			reported := func(what string, err error) {
				t.Helper()
				want := "move it away"
				if name == filepath.Join("wal", "META") {
					want = ""
				}
				if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s at %s: %s: %v; want it to name the file and say what to do", kind, name, what, err)
				}
			}
			s, err = logstore.Open(dir, logstore.Options{MinFree: 1})
			if reported("Open", err); err == nil {
				s.Close()
			}
			in, err := logstore.Inspect(dir)
			if err != nil {
				t.Fatal(err)
			}
			if name == segment {
				if len(in.Segments) != 1 {
					t.Fatalf("%+v", in.Segments)
				}
				reported("Inspect", in.Segments[0].Err)
				_, err = logstore.Verify(t.Context(), dir, nil)
				reported("Verify", err)
				_, err = logstore.PlanRepair(t.Context(), dir, logstore.RepairOptions{})
				reported("PlanRepair", err)
			}
			if now, err := os.Lstat(path); err != nil || !os.SameFile(was, now) {
				t.Errorf("%s at %s: %v, and was %v", kind, name, err, was.Mode())
			}
		}
	}
}

// Nor does Open wait for a FIFO in place of a directory of the store.
func TestIrregularFolders(t *testing.T) {
	for _, name := range []string{"segments", "quarantine", "wal"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := logstore.Open(dir, logstore.Options{MinFree: 1})
			if err == nil {
				err = s.Close()
			}
			path := filepath.Join(dir, name)
			if err = errors.Join(err, os.RemoveAll(path), unix.Mkfifo(path, 0o600)); err != nil {
				t.Fatal(err)
			}
			if s, err := logstore.Open(dir, logstore.Options{MinFree: 1}); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("Open: %v; want it to name %s", err, path)
				if err == nil {
					s.Close()
				}
			}
			in, err := logstore.Inspect(dir)
			if err == nil {
				err = in.LogErr
			}
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("Inspect: %v; want it to name %s", err, path)
			}
			if fi, err := os.Lstat(path); err != nil || fi.Mode().Type() != os.ModeNamedPipe {
				t.Errorf("%v, %v", fi, err)
			}
		})
	}
}
