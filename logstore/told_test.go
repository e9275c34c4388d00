package logstore

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/wal"
)

// toldStore makes a store of segments, compacted ones among them, and of a log of
// several files. killed is the same after a kill, closed after Close.
func toldStore(t *testing.T, o Options) (killed, closed string, lines map[string]bool) {
	t.Helper()
	dir := t.TempDir()
	s := openTest(t, dir, o)
	lines = map[string]bool{}
	add := func(n int) {
		for range n {
			random := make([]byte, 300)
			rand.Read(random)
			line := fmt.Sprintf("%06d %s", len(lines), hex.EncodeToString(random))
			lines[line] = true
			mustAppend(t, s, one(MustLabels("a", "b"), int64(len(lines)), line))
		}
	}
	for i := range 7 {
		add(10)
		err := s.Seal(t.Context())
		if i == 3 {
			err = errors.Join(err, s.Compact(t.Context()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add(300)
	killed = copyStore(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return killed, dir, lines
}

// told opens the store and reads it at once. It returns what says that something is
// wrong, "" if nothing does, and the lines that are there. A query that ends without an
// error has all lines that are intact.
func told(t *testing.T, dir string, o Options) (why string, lines map[string]bool) {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		return "Open: " + err.Error(), nil
	}
	defer s.Close()
	<-s.Ready()
	lines, err = linesThrough(t, s) // salvages have hardly begun
	for _, e := range s.Report().Events {
		if e.Kind != EventLeftover {
			why = "Report: " + e.String()
		}
	}
	if err != nil {
		return "Query: " + err.Error(), lines
	}
	if why != "" {
		if err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		salvaged, err := linesThrough(t, s)
		if lost := lostLines(salvaged, lines); len(lost) > 0 {
			t.Errorf("%s: a query directly after Open passed as whole and lacked %d of %d lines that a later one has, %v", why, len(lost), len(salvaged), err)
		}
	}
	return why, lines
}

// linesThrough returns all lines, and the error that the query ends with.
func linesThrough(t *testing.T, s *Store) (lines map[string]bool, last error) {
	t.Helper()
	lines = map[string]bool{}
	for r, err := range s.Query(t.Context(), Query{To: 1 << 62}) {
		if err != nil {
			last = err
		} else {
			lines[string(r.Line)] = true
		}
	}
	return lines, last
}

// Every file that was deleted, truncated or flipped, and every folder that is gone, is
// told, if an entry is lost with it. The one exception is the end of the log of a
// store that was not closed, where it looks as a crash leaves it.
func TestEveryFileIsTold(t *testing.T) {
	o := anyTime()
	o.logSegmentSize = 64 << 10
	killed, closed, all := toldStore(t, o)
	for state, dir := range map[string]string{"killed": killed, "closed": closed} {
		if why, lines := told(t, copyStore(t, dir), o); why != "" || !maps.Equal(lines, all) {
			t.Fatalf("%s: %d of %d lines, %q", state, len(lines), len(all), why)
		}
		last := ""
		for _, name := range filesToTell(t, dir) {
			if strings.HasPrefix(name, logDir) && strings.HasSuffix(name, ".wal") {
				last = name
			}
		}
		for _, name := range append(filesToTell(t, dir), "segments", logDir) {
			for what, damage := range harms(t, filepath.Join(dir, name)) {
				to := copyStore(t, dir)
				if err := damage(filepath.Join(to, name)); err != nil {
					t.Fatal(err)
				}
				why, lines := told(t, to, o)
				lost := lostLines(all, lines)
				if why != "" || len(lost) == 0 {
					continue
				}
				if end := slices.Sorted(maps.Keys(all))[len(all)-len(lost):]; state == "killed" && name == last && slices.Equal(lost, end) {
					continue // the exception
				}
				t.Errorf("%s: %s: %s: %d lines are lost and nothing is told", state, name, what, len(lost))
			}
		}
	}
}

// Whatever happens to a file of the log that was prepared and never used, or used before
// and recycled, no entry is lost, and nothing but that file is told.
func TestUnusedLogFilesAreNoDamage(t *testing.T) {
	o := anyTime()
	o.logSegmentSize = 64 << 10
	killed, closed, all := toldStore(t, o)
	for state, dir := range map[string]string{"killed": killed, "closed": closed} {
		unused := unusedLogFiles(t, dir)
		for n, name := range unused {
			list := harms(t, name)
			for i, what := range slices.Sorted(maps.Keys(list)) {
				if what != "deleted" && i%6 != n%6 {
					continue // package wal tries all of them
				}
				to := copyStore(t, dir)
				if err := list[what](filepath.Join(to, logDir, filepath.Base(name))); err != nil {
					t.Fatal(err)
				}
				s, err := Open(to, o)
				if err != nil {
					t.Errorf("%s: %s: %s: %v", state, filepath.Base(name), what, err)
					continue
				}
				<-s.Ready()
				lines, err := linesThrough(t, s)
				if err != nil || !maps.Equal(lines, all) {
					t.Errorf("%s: %s: %s: %d of %d lines, %v", state, filepath.Base(name), what, len(lines), len(all), err)
				}
				for _, e := range s.Report().Events {
					if e.Kind != EventUnusedLog {
						t.Errorf("%s: %s: %s: told is %v", state, filepath.Base(name), what, e)
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		if len(unused) == 0 {
			t.Errorf("%s: no file of the log is unused", state)
		}
	}
}

// unusedLogFiles returns the paths of the log's files above the one that it ends in.
func unusedLogFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	in, err := wal.Inspect(filepath.Join(dir, logDir))
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for r, err := range in.Salvage(0) {
		if err == nil {
			last = max(last, r.Segment)
		}
	}
	all, err := filepath.Glob(filepath.Join(dir, logDir, "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if filepath.Base(file) > filepath.Base(logFile(dir, last)) {
			files = append(files, file)
		}
	}
	return files
}

// filesToTell returns the files of a store that hold something, relative to it.
func filesToTell(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		p, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		unused := strings.HasSuffix(path, ".wal") && len(strings.Trim(string(p[4096:]), "\x00")) == 0
		if !unused && d.Name() != "LOCK" {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return nil
	})
	if err != nil || len(names) < 8 {
		t.Fatalf("%q, %v", names, err)
	}
	slices.Sort(names)
	return names
}

// harms returns what may happen to a file, or a folder.
func harms(t *testing.T, path string) map[string]func(path string) error {
	t.Helper()
	list := map[string]func(path string) error{"deleted": os.RemoveAll}
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi.IsDir() {
		return list
	}
	places := int64(12)
	if testing.Short() {
		places = 3
	}
	for i := range places {
		at := fi.Size() * i / places
		list[fmt.Sprintf("truncated to %d bytes", at)] = func(path string) error { return os.Truncate(path, at) }
		at += fi.Size() / places / 2
		list[fmt.Sprintf("flipped at %d", at)] = func(path string) error {
			p, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			p[at] ^= 4
			return os.WriteFile(path, p, 0o666)
		}
		list[fmt.Sprintf("zeros from %d on", at)] = func(path string) error {
			p, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			clear(p[at:])
			return os.WriteFile(path, p, 0o666)
		}
	}
	return list
}

func lostLines(all, there map[string]bool) (lost []string) {
	for line := range all {
		if !there[line] {
			lost = append(lost, line)
		}
	}
	slices.Sort(lost)
	return lost
}
