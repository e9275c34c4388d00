package peers

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The corruption matrix of package wal, for every library alike: a log whose records were
// all acknowledged, one by one, is damaged in each way at each place, and opened.
//
// A log cannot always tell damage at its end from a torn write: it may cut if no whole
// record follows the damage.

// A damage is something that happens to the content of a file at an offset.
// other is the content of a file of the same kind.
type damage struct {
	name string
	do   func(content []byte, at int, other []byte) []byte
}

// damages are those of package wal's own matrix.
var damages = []damage{
	{"bit flip", func(b []byte, at int, _ []byte) []byte { b[at] ^= 1 << (at % 8); return b }},
	{"byte zero", func(b []byte, at int, _ []byte) []byte { b[at] = 0; return b }},
	{"sector zero", func(b []byte, at int, _ []byte) []byte { clear(around(b, at, 512)); return b }},
	{"block zero", func(b []byte, at int, _ []byte) []byte { clear(around(b, at, 4096)); return b }},
	{"zeros to the end", func(b []byte, at int, _ []byte) []byte { clear(b[at:]); return b }},
	{"old sector", func(b []byte, at int, other []byte) []byte {
		copy(around(b, at, 512), around(other, at, 512))
		return b
	}},
	{"old block", func(b []byte, at int, other []byte) []byte {
		copy(around(b, at, 4096), around(other, at, 4096))
		return b
	}},
	{"old to the end", func(b []byte, at int, other []byte) []byte {
		copy(b[at:], other[min(at, len(other)):])
		return b
	}},
	{"garbage sector", func(b []byte, at int, _ []byte) []byte { fillGarbage(around(b, at, 512), at); return b }},
	{"garbage to the end", func(b []byte, at int, _ []byte) []byte { fillGarbage(b[at:], at); return b }},
	{"doubled", func(b []byte, at int, _ []byte) []byte {
		n := min(700, (len(b)-at)/2)
		copy(b[at+n:], b[at:at+n])
		return b
	}},
	{"moved down", func(b []byte, at int, _ []byte) []byte { copy(b[at:], b[min(at+512, len(b)):]); return b }},
	{"cut off", func(b []byte, at int, _ []byte) []byte { return b[:at] }},
}

// around returns the aligned n bytes that contain at, or none if b ends before.
func around(b []byte, at, n int) []byte {
	from := min(at/n*n, len(b))
	return b[from:min(from+n, len(b))]
}

func fillGarbage(b []byte, seed int) {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// A specimen is a log to be damaged.
type specimen struct {
	files   map[string][]byte
	records [][]byte
	in      map[string][]int // of each file that has records: where each begins, in order
	order   []string         // those files
}

const specimenRecords = 150

// grow makes a specimen of the records from first on, closed or as a kill
// leaves it.
func grow(t *testing.T, l log, first int, clean bool) *specimen {
	t.Helper()
	dir := memoryDir(t)
	s, err := l.make(dir)
	if err != nil {
		t.Fatal(err)
	}
	sp := &specimen{in: map[string][]int{}}
	for i := range specimenRecords {
		rec := logRecord(first + i)
		if err := s.save([][]byte{rec}); err != nil {
			t.Fatal(err)
		}
		sp.records = append(sp.records, rec)
	}
	if clean {
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
	sp.files = filesOf(t, dir)
	if !clean {
		s.close()
	}
	for _, name := range slices.Sorted(maps.Keys(sp.files)) {
		for _, rec := range sp.records {
			// The first bytes of a record are contiguous, but for a few records at the
			// beginning of a library's block.
			if at := bytes.Index(sp.files[name], rec[:40]); at >= 0 {
				sp.in[name] = append(sp.in[name], at)
			}
		}
		if len(sp.in[name]) > 0 {
			sp.order = append(sp.order, name)
		}
	}
	return sp
}

func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a spare file was renamed
		}
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		all[rel] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A place is an offset in a file that is damaged.
type place struct {
	name, file string
	at         int
}

func (sp *specimen) places() (all []place) {
	files := map[string]string{"active": sp.order[len(sp.order)-1]}
	if len(sp.order) > 2 {
		files["sealed"] = sp.order[len(sp.order)/2]
	}
	for _, kind := range slices.Sorted(maps.Keys(files)) {
		file := files[kind]
		at, size := sp.in[file], len(sp.files[file])
		first, mid, last := at[0], at[len(at)/2], at[len(at)-1]
		for _, s := range []place{
			{"header", file, 3},
			{"first record's head", file, first - 5},
			{"first record's payload", file, first + 20},
			{"middle record's length or checksum", file, mid - 3},
			{"middle record's head", file, mid - 8},
			{"middle record's payload", file, mid + 500},
			{"last but two", file, at[len(at)-3] + 100},
			{"last but one", file, at[len(at)-2] - 6},
			{"last record's head", file, last - 6},
			{"last record's payload", file, last + 300},
			{"behind the last", file, last + 1300},
		} {
			if s.at >= 0 && s.at < size {
				s.name = kind + " " + s.name
				all = append(all, s)
			}
		}
	}
	return all
}

// mayCut reports whether no whole record follows the damage in content, which is that of
// the last file.
func (sp *specimen) mayCut(file string, content []byte) bool {
	if file != sp.order[len(sp.order)-1] {
		return false
	}
	was, damaged := sp.files[file], false
	at := sp.in[file]
	for i, from := range at {
		end := from + 900
		if i+1 < len(at) {
			end = at[i+1] - 40 // heads are shorter
		}
		from = max(from-8, 0)
		whole := end <= len(content) && bytes.Equal(content[from:end], was[from:end])
		if damaged && whole {
			return false
		}
		damaged = damaged || !whole
	}
	return true
}

// The outcomes of a cell.
const (
	harmless = "whole"
	detected = "detected"
	cut      = "cut"
	lost     = "LOST"
	madeUp   = "MADE UP"
	panicked = "PANIC"
)

// try opens a damaged log, appends to it and opens it again.
func (sp *specimen) try(t *testing.T, l log, files map[string][]byte, mayCut bool) (outcome, why string) {
	t.Helper()
	dir := memoryDir(t)
	defer os.RemoveAll(dir)
	for name, b := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, b, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	recs, s, err := reopenSafely(l, dir)
	switch {
	case errors.Is(err, errPanic):
		return panicked, err.Error()
	case err != nil:
		return detected, err.Error()
	}
	if s.close != nil {
		defer s.close()
	}
	if outcome, why = sp.compare(recs, mayCut); s.save == nil || outcome == lost || outcome == madeUp {
		return outcome, why
	}
	if after, why := goOn(l, dir, s, recs); after != "" {
		return after, why
	}
	return outcome, ""
}

// compare returns the outcome by the records that a damaged log still has.
func (sp *specimen) compare(recs [][]byte, mayCut bool) (outcome, why string) {
	for i, rec := range recs {
		if i < len(sp.records) && bytes.Equal(rec, sp.records[i]) {
			continue
		}
		if slices.ContainsFunc(sp.records, func(r []byte) bool { return bytes.Equal(r, rec) }) {
			return lost, fmt.Sprintf("record %d is %.14q", i, rec)
		}
		return madeUp, fmt.Sprintf("record %d is %.20q of %d bytes", i, rec, len(rec))
	}
	if missing := len(sp.records) - len(recs); missing > 0 && !mayCut {
		return lost, fmt.Sprintf("%d of %d records are missing, and no error", missing, len(sp.records))
	}
	if len(recs) < len(sp.records) {
		return cut, ""
	}
	return harmless, ""
}

// goOn appends to a log that was opened with recs, closes it and opens it again. The
// outcome is "" if all records are there.
func goOn(l log, dir string, s saver, recs [][]byte) (outcome, why string) {
	var more [][]byte
	for i := range 3 {
		more = append(more, logRecord(900_000+i))
		if err := s.save(more[i:]); err != nil {
			return detected, "append: " + err.Error()
		}
	}
	if err := s.close(); err != nil {
		return detected, "close: " + err.Error()
	}
	again, s2, err := reopenSafely(l, dir)
	if s2.close != nil {
		defer s2.close()
	}
	if err != nil || !slices.EqualFunc(again, append(recs, more...), bytes.Equal) {
		return lost, fmt.Sprintf("appended after the damage and read again: %d records, %v", len(again)-len(recs), err)
	}
	return "", ""
}

var errPanic = errors.New("panic")

func reopenSafely(l log, dir string) (recs [][]byte, s saver, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return l.reopen(dir)
}

// TestMatrix prints how each library handles each damage:
//
//	go test -run Matrix -v
func TestMatrix(t *testing.T) {
	outcomes := []string{harmless, detected, cut, lost, madeUp, panicked}
	table := fmt.Sprintf("%-14s %6s", "", "cells")
	for _, o := range outcomes {
		table += fmt.Sprintf(" %9s", o)
	}
	var examples []string
	for _, l := range logs() {
		count, cells := map[string]int{}, 0
		for _, clean := range []bool{false, true} {
			sp, former := grow(t, l, 0, clean), l
			if l.former != nil {
				former.make = l.former
			}
			other := grow(t, former, 1000, clean)
			if o, why := sp.try(t, l, sp.files, false); o != harmless {
				t.Fatalf("%s, undamaged: %s: %s", l.name, o, why)
			}
			cell := func(what string, files map[string][]byte, mayCut bool) {
				o, why := sp.try(t, l, files, mayCut)
				count[o]++
				cells++
				if o != lost && o != madeUp && o != panicked {
					return
				}
				if l.name == "stele wal" {
					t.Errorf("%s, clean %v, %s: %s: %s", l.name, clean, what, o, why)
				}
				if count[o] <= 2 {
					examples = append(examples, fmt.Sprintf("%s: %s: %s: %s", l.name, what, o, why))
				}
			}
			for _, s := range sp.places() {
				old := other.files[other.order[slices.Index(sp.order, s.file)]]
				for _, d := range damages {
					files := maps.Clone(sp.files)
					files[s.file] = d.do(slices.Clone(files[s.file]), s.at, old)
					cell(s.name+", "+d.name, files, sp.mayCut(s.file, files[s.file]))
				}
			}
			for what, do := range fileDamages(sp, other) {
				files := maps.Clone(sp.files)
				do(files)
				cell(what, files, false)
			}
		}
		table += fmt.Sprintf("\n%-14s %6d", l.name, cells)
		for _, o := range outcomes {
			table += fmt.Sprintf(" %9d", count[o])
		}
	}
	t.Logf("LOST: acknowledged records are missing, without an error.\n%s\nThe first of each kind:\n%s", table, strings.Join(examples, "\n"))
}

// fileDamages returns damages of whole files. A log in one file has none of them.
func fileDamages(sp, other *specimen) map[string]func(files map[string][]byte) {
	if len(sp.order) < 3 {
		return nil
	}
	n := len(sp.order)
	first, sealed, active := sp.order[0], sp.order[n/2], sp.order[n-1]
	return map[string]func(files map[string][]byte){
		"first missing":         func(f map[string][]byte) { delete(f, first) },
		"sealed missing":        func(f map[string][]byte) { delete(f, sealed) },
		"active missing":        func(f map[string][]byte) { delete(f, active) },
		"sealed empty":          func(f map[string][]byte) { f[sealed] = nil },
		"active empty":          func(f map[string][]byte) { f[active] = nil },
		"swapped":               func(f map[string][]byte) { f[first], f[sealed] = f[sealed], f[first] },
		"doubled":               func(f map[string][]byte) { f[sealed] = f[first] },
		"sealed of another log": func(f map[string][]byte) { f[sealed] = other.files[other.order[n/2]] },
		"sealed zeros":          func(f map[string][]byte) { f[sealed] = make([]byte, len(f[sealed])) },
	}
}
