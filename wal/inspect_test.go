package wal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestInspect(t *testing.T) {
	for _, recycled := range []bool{false, true} {
		sp := grow(t, recycled, true)
		dir := putFiles(t, sp.files)
		before := readAll(t, dir)
		in := must(Inspect(dir))(t)
		if in.First != sp.first || in.FirstSegment != sp.segments[0] || in.MetaErr != nil || in.MetaDegraded || in.Version != version || len(in.ID) != 32 {
			t.Errorf("%+v", in)
		}
		var states []State
		next := Position(0)
		for s := range in.Segments() {
			states = append(states, s.State)
			if s.Err != nil || s.Torn != nil || s.File != filepath.Join(dir, segmentName(s.Number)) {
				t.Errorf("%+v", s)
			}
			rs := sp.records[s.Number]
			if len(rs) == 0 {
				continue
			}
			if s.End != rs[len(rs)-1].next || s.Size != minSegmentSize || s.Records != int64(len(rs)-1) || s.Closed != (s.State == StateActive) {
				t.Errorf("%+v", s)
			}
			if next != 0 && s.First != next {
				t.Errorf("segment %d begins at %d, want %d", s.Number, s.First, next)
			}
			next = s.Last + 1
		}
		for len(states) > 0 && states[0] == StateLeftover { // not recycled yet
			states = states[1:]
		}
		want := []State{StateComplete, StateComplete, StateActive, StatePrepared}
		if len(states) < 4 || !slices.Equal(states[:4], want) || next != sp.next {
			t.Errorf("%v, next %d; want %v, %d", states, next, want, sp.next)
		}
		for r, err := range in.Records(sp.next - 2) {
			if err != nil || r.Position < sp.next-2 || r.Type == "data" && string(r.Data) != string(payload(r.Position)) {
				t.Errorf("%+v, %v", r, err)
			}
		}
		after := readAll(t, dir)
		for name := range after {
			if string(before[name]) != string(after[name]) {
				t.Errorf("%s was changed", name)
			}
		}
	}
}

// Inspect reports as much of a damaged log as can be known.
func TestInspectDamaged(t *testing.T) {
	sp := grow(t, false, true)
	dir := putFiles(t, sp.files)
	name := func(i int) string { return filepath.Join(dir, segmentName(sp.segments[i])) }
	damageAt := func(path string, off int64) {
		b := must(os.ReadFile(path))(t)
		b[off] ^= 1
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	state := func() (states []State, errs []error) {
		for s := range must(Inspect(dir))(t).Segments() {
			states, errs = append(states, s.State), append(errs, s.Err)
		}
		return states[:4], errs[:4]
	}
	hurt := sp.records[sp.segments[2]][5]
	damageAt(name(2), hurt.off+headerSize)
	states, errs := state()
	c, ok := errors.AsType[*CorruptError](errs[2])
	// Whether the log ends after damage is not known.
	if !slices.Equal(states, []State{StateComplete, StateComplete, StateDamaged, StateActive}) || !ok || c.Offset != hurt.off {
		t.Errorf("%v, %v; want damage at %d", states, errs, hurt.off)
	}
	var last error
	seen := Position(0)
	for r, err := range must(Inspect(dir))(t).Records(0) {
		if last = err; err == nil {
			seen = r.Position
		}
	}
	if c, ok := errors.AsType[*CorruptError](last); !ok || c.Offset != hurt.off || seen != hurt.pos-1 {
		t.Errorf("records end behind %d with %v", seen, last)
	}
	if err := os.Remove(name(1)); err != nil {
		t.Fatal(err)
	}
	damageAt(filepath.Join(dir, metaName), 33)
	if in := must(Inspect(dir))(t); !in.MetaDegraded {
		t.Errorf("%+v", in)
	}
	damageAt(filepath.Join(dir, metaName), metaApart)
	in := must(Inspect(dir))(t)
	if in.MetaErr == nil || in.FirstSegment != 1 {
		t.Errorf("%+v", in)
	}
	if states, errs = state(); states[0] != StateComplete || states[1] != StateDamaged || errs[1] == nil {
		t.Errorf("a segment is missing: %v, %v", states, errs)
	}

	if _, err := Inspect(t.TempDir()); err == nil {
		t.Error("an empty directory is no log")
	}
	if _, err := Verify(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// While a log is written, truncated and recycled, Inspect and Verify find no
// damage.
func TestInspectLive(t *testing.T) {
	dir := memoryDir(t)
	p, _ := openPen(t, dir, small())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			for range 20 {
				p.append(payload(p.next))
			}
			if i%10 == 9 {
				if err := p.s.truncate(p.s.last().first); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Millisecond)
		}
	}()
	until := time.Now().Add(500 * time.Millisecond)
	for n := 0; time.Now().Before(until) || n < 5; n++ {
		if _, err := Verify(dir); err != nil {
			t.Errorf("Verify: %v", err)
			break
		}
		for s := range must(Inspect(dir))(t).Segments() {
			if s.Err != nil {
				t.Errorf("Inspect: %+v", s)
			}
		}
	}
	close(stop)
	<-done
	p.close()
}
