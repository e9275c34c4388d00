package wal

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// A log created by Create has its ID and goes on at its first position, through
// segments, truncation and reopening.
func TestCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "log")
	id := [16]byte{1, 2, 15: 16}
	const first = 1_000_000
	check(t, Create(dir, CreateOptions{ID: id, First: first}))
	before := readAll(t, dir)
	if err := Create(dir, CreateOptions{ID: id, First: first}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created twice: %v", err)
	}
	if !maps.EqualFunc(before, readAll(t, dir), bytes.Equal) {
		t.Error("a log that was there was changed")
	}
	if rep, err := Verify(dir); err != nil || rep.First != first || rep.Next != first {
		t.Errorf("%+v, %v", rep, err)
	}
	for round := range 2 {
		l, err := Open(dir, small())
		needPower(t, err)
		check(t, err)
		if l.ID() != id {
			t.Errorf("the ID is %x, want %x", l.ID(), id)
		}
		f, next := l.Bounds()
		if want := Position(first + 60*round); f != first || next != want {
			t.Errorf("round %d: from %d to %d; want %d to %d", round, f, next, first, want)
		}
		for range 60 {
			if pos, err := l.Append(context.Background(), payload(next)); err != nil || pos != next {
				t.Fatalf("position %d, %v; want %d", pos, err, next)
			}
			next++
		}
		if round == 1 {
			check(t, l.TruncateBefore(first+90))
			f = first + 90
		}
		check(t, l.Close())
		checkRecords(t, dir, f, next)
	}
	if in := must(Inspect(dir))(t); in.ID != hex.EncodeToString(id[:]) {
		t.Errorf("Inspect: %s, want %x", in.ID, id)
	}
	if err := Create(dir, CreateOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a log: %v", err)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := Create(dir, CreateOptions{First: 1<<62 + 1}); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("first too high: %v", err)
	}
	check(t, os.WriteFile(filepath.Join(dir, segmentName(7)), nil, 0o666))
	if err := Create(dir, CreateOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("beside a segment: %v", err)
	}
	check(t, os.Remove(filepath.Join(dir, segmentName(7))))
	check(t, os.Mkdir(filepath.Join(dir, "META.new"), 0o777))
	if _, ok := errors.AsType[*CorruptError](Create(dir, CreateOptions{})); !ok {
		t.Error("a directory has the name of a file")
	}
	p, _ := openPen(t, t.TempDir(), small())
	defer p.close()
	check(t, os.Remove(p.s.path(metaName)))
	check(t, os.Remove(p.g.path))
	if err := Create(p.s.dir, CreateOptions{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a log in use: %v", err)
	}
}

// Where Create was interrupted, it can be called again. The defaults are those
// of Open.
func TestCreateAgain(t *testing.T) {
	var ids [][16]byte
	for range 2 {
		dir := t.TempDir()
		check(t, os.WriteFile(filepath.Join(dir, "META.new"), make([]byte, 100), 0o666))
		check(t, Create(dir, CreateOptions{}))
		l, err := Open(dir, small())
		needPower(t, err)
		check(t, err)
		ids = append(ids, l.ID())
		if first, next := l.Bounds(); first != 1 || next != 1 {
			t.Errorf("from %d to %d", first, next)
		}
		check(t, l.Close())
	}
	if ids[0] == ids[1] || ids[0] == [16]byte{} {
		t.Errorf("the IDs are %x", ids)
	}
}
