package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
)

// Records behind a torn one are kept and told, with the first copy of their bytes.
func TestTornTailIsKept(t *testing.T) {
	dir := t.TempDir()
	o := anyTime()
	o.Level = durability.Kill
	s := openTest(t, dir, o)
	for i := range 20 {
		mustAppend(t, s, one(MustLabels("a", "b"), int64(i), fmt.Sprintf("line %d %s", i, strings.Repeat("x", 300))))
	}
	dir = copyStore(t, dir)
	file := filepath.Join(dir, logDir, "0000000000000001.wal")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(content, []byte("line 5 "))
	clear(content[at : at+100])
	if err := os.WriteFile(file, content, 0o666); err != nil {
		t.Fatal(err)
	}
	uncut := copyStore(t, dir)
	toldBefore(t, uncut, 14)
	var heard listener
	o.Events = heard.hear
	s = openTest(t, dir, o)
	e := s.Report().Events[0]
	if st := s.Stats(); st.TornRecords != 14 || st.TornBytes != e.Bytes {
		t.Errorf("Stats has %d records and %d bytes; want 14 and %d", st.TornRecords, st.TornBytes, e.Bytes)
	}
	if e.Kind != EventTornTail || e.Records != 14 || e.Position != 7 || e.Bytes < 14*300 || e.Offset > int64(at) {
		t.Errorf("the report is %+v", e)
	}
	if n, err := drain(s); n != 5 || err != nil {
		t.Errorf("%d lines are left, %v; want 5", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	heard.await(t, EventTornTail)
	kept, err := os.ReadFile(e.File)
	if err != nil || !bytes.Equal(kept, content[e.Offset:e.Offset+e.Bytes]) || filepath.Dir(e.File) != filepath.Join(dir, catalog.QuarantineDir) {
		t.Errorf("%s is not what was cut, %v", e.File, err)
	}
	report, err := os.ReadFile(strings.TrimSuffix(e.File, ".wal") + ".txt")
	if err != nil || !strings.Contains(string(report), "records:     14, whole") {
		t.Errorf("the report is %q, %v", report, err)
	}
	if r := openTest(t, dir, anyTime()).Report(); len(r.Events) != 0 {
		t.Errorf("opened again: %v", r)
	}

	// A crash came after the copy, with the cut begun; then another tail is torn
	// at the same place.
	for round, begin := range []func(b []byte){
		func(b []byte) {},
		func(b []byte) { clear(b[:len(b)/2]) },
		func(b []byte) { copy(b[200:], "another") },
	} {
		if err := os.CopyFS(filepath.Join(uncut, catalog.QuarantineDir), os.DirFS(filepath.Dir(e.File))); err != nil && round == 0 {
			t.Fatal(err)
		}
		again := copyStore(t, uncut)
		c := slices.Clone(content)
		begin(c[e.Offset : e.Offset+e.Bytes])
		if err := os.WriteFile(filepath.Join(again, logDir, filepath.Base(file)), c, 0o666); err != nil {
			t.Fatal(err)
		}
		s := openTest(t, again, anyTime())
		names, err := filepath.Glob(filepath.Join(again, catalog.QuarantineDir, "torn-*.wal"))
		if want := 1 + round/2; err != nil || len(names) != want {
			t.Errorf("round %d: kept %q, %v; want %d", round, names, err, want)
		}
		first, err := os.ReadFile(filepath.Join(again, catalog.QuarantineDir, filepath.Base(e.File)))
		if err != nil || !bytes.Equal(first, kept) {
			t.Errorf("round %d: the first copy has changed, %v", round, err)
		}
		if got := s.Report().Events; len(got) != 1 || got[0].Kind != EventTornTail {
			t.Errorf("round %d: %v", round, got)
		}
	}
}

// toldBefore checks that the doors to a store tell the whole records of its torn tail
// before Open cuts them.
func toldBefore(t *testing.T, dir string, records int) {
	t.Helper()
	v, err := Verify(t.Context(), dir, nil)
	torn, ok := errors.AsType[*TornTailError](err)
	if !ok || torn != v.Torn || torn.Records != records || v.LogErr != nil {
		t.Errorf("Verify: %+v, %v", v, err)
	}
	p, err := PlanRepair(t.Context(), dir, RepairOptions{})
	if err != nil || p.Refused != nil || p.Torn == nil || *p.Torn != *torn {
		t.Errorf("PlanRepair: %+v, %v", p, err)
	}
	s, err := OpenReadOnly(dir, anyTime())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	for _, e := range s.Report().Events {
		if e.Kind == EventTornTail {
			n += e.Records
		}
	}
	if n != records {
		t.Errorf("OpenReadOnly tells %d records: %v", n, s.Report())
	}
}

// As each crash may add one, torn tails in quarantine without a whole record are bounded.
// One that has a whole record, or may have, is never removed.
func TestTornTailsAreBounded(t *testing.T) {
	dir := t.TempDir()
	var heard []Event
	k := &logKeeper{dir: dir, tell: func(e Event) { heard = append(heard, e) }, now: time.Now, cut: new(tornTotal)}
	save := func(i, records int, content []byte) {
		t.Helper()
		tail := wal.TornTail{File: fmt.Sprintf("%016d.wal", i), Offset: 4096, Bytes: int64(len(content)), Records: records}
		if err := k.saveTorn(tail, bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(i), 0)
		if path := heard[len(heard)-1].File; heard[len(heard)-1].Kind == EventTornTail {
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := func() (numbers []int) {
		for _, f := range k.tails() {
			var n int
			if _, err := fmt.Sscanf(filepath.Base(f.path), "torn-%d-", &n); err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, n)
		}
		return numbers
	}
	for i := 1; i <= 2*keptTails; i++ {
		save(i, i%2, []byte("torn"))
	}
	if n := len(kept()); n != 2*keptTails || len(heard) != 2*keptTails {
		t.Fatalf("%d are kept, %d events", n, len(heard))
	}
	save(500, 1, []byte("one more"))
	save(501, 0, []byte("one more"))
	if err := os.Remove(reportOf(filepath.Join(dir, "quarantine", "torn-0000000000000004-00001000.wal"))); err != nil {
		t.Fatal(err) // it may have whole records, then
	}
	save(502, 0, []byte("one more"))
	save(503, 0, []byte("one more"))
	got := kept()
	for n, want := range map[int]bool{1: true, 2: false, 3: true, 4: true, 6: false, 8: true, 127: true, 500: true, 501: true, 503: true} {
		if slices.Contains(got, n) != want {
			t.Errorf("%d is kept: %t; want %t", n, !want, want)
		}
	}
	var gone []string
	for _, e := range heard {
		if e.Kind == EventDiscarded {
			gone = append(gone, filepath.Base(e.File))
			if _, err := os.Stat(reportOf(e.File)); !errors.Is(err, fs.ErrNotExist) || e.Records != 0 || e.Bytes != 4 {
				t.Errorf("%+v, its report: %v", e, err)
			}
		}
	}
	if len(gone) != 2 || len(got) != 2*keptTails+2 {
		t.Errorf("%v are gone, and %d are kept", gone, len(got))
	}
}

// On a full disk, whole records are not cut without a copy; what has none is.
func TestTornTailOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	var heard []Event
	k := &logKeeper{dir: dir, tell: func(e Event) { heard = append(heard, e) }, now: time.Now, cut: new(tornTotal)}
	k.write = func(string, []byte) error { return syscall.ENOSPC }
	tail := wal.TornTail{File: "0000000000000001.wal", Offset: 4096, Bytes: 4, Records: 1}
	if err := k.saveTorn(tail, strings.NewReader("torn")); !isFull(err) || !strings.Contains(err.Error(), "make 4 bytes of space") || len(heard) != 0 {
		t.Errorf("with a whole record: %v, told %v", err, heard)
	}
	tail.Records = 0
	if err := k.saveTorn(tail, strings.NewReader("torn")); err != nil || len(heard) != 1 || heard[0].File != "" || !strings.Contains(heard[0].Reason, "not kept") {
		t.Errorf("without one: %v, told %v", err, heard)
	}
}
