package header_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/proofs/internal/prove"
)

func TestPower(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		for _, w := range headWays {
			if !slices.Contains(w.fs, fs) {
				continue
			}
			h := w.at(durability.Power)
			prove.Holds(t, fs, h.check, []prove.Case[int]{{Name: w.name, Work: h.work, Prepare: w.prepare}})
			t.Cleanup(func() {
				t.Logf("%s: of %d cuts %d left neither old nor new; Recover took %d back and finished %d",
					w.name, prove.Cuts(), h.partial.Load(), h.old.Load(), h.new.Load())
			})
		}
	})
}

// An interruptedShift is a file whose shift is cut off at block x, and then
// ended by a Recover that is cut off itself.
type interruptedShift struct {
	x      int64
	block  int64 // bytes
	base   [sha256.Size]byte
	intent []byte
	middle atomic.Int64 // cuts that moved the gap
}

const (
	intentAttr = "user.stele.intent"
	recordAttr = "user.stele.header"
)

// prepare makes the file, and reads the intent that a shift of it writes.
func (s *interruptedShift) prepare(dir string) error {
	if err := prepareMany(dir); err != nil {
		return err
	}
	name := filepath.Join(dir, headedName)
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	s.base = sha256.Sum256(b)
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	layout, err := sys.LayoutOf(f)
	if err != nil {
		return err
	}
	s.block = layout.Block
	// On a busy machine the goroutine that polls may get no processor in time.
	for begun, tries := time.Now(), 0; tries < 100 || time.Since(begun) < time.Minute; tries++ {
		s.intent, err = s.intentOfInsert(f)
		err = errors.Join(err, sys.CollapseRange(f, 0, 2*s.block), sys.RemoveXattr(f, recordAttr))
		if err != nil || s.intent != nil {
			return err
		}
	}
	return errors.New("no intent was seen during all shifts of a minute")
}

// intentOfInsert shifts the file and returns the intent that it had meanwhile, or nil if
// polling missed it.
func (s *interruptedShift) intentOfInsert(f *os.File) ([]byte, error) {
	noted, stop := make(chan []byte, 1), make(chan struct{})
	go func() {
		defer close(noted)
		for {
			if b, err := sys.GetAttr(int(f.Fd()), intentAttr); err == nil {
				noted <- b
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	_, err := header.Insert(context.Background(), f.Name(), headText("head", int(2*s.block)), header.Options{Mode: header.InPlace, Strategy: header.Shift, Pad: header.PadByte(' ')})
	close(stop)
	return <-noted, err
}

// work interrupts the shift and recovers from that, several times.
func (s *interruptedShift) work(dir string, ack func(int)) error {
	name := filepath.Join(dir, headedName)
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return besideSyncs(dir, func() error {
		for round := range 4 {
			err := sys.SetAttr(int(f.Fd()), intentAttr, s.intent)
			if s.x < manyExtents {
				err = errors.Join(err, sys.InsertRange(f, s.x*s.block, 2*s.block))
			} else {
				err = errors.Join(err, f.Truncate((manyExtents+2)*s.block))
			}
			if err != nil {
				return err
			}
			if state, err := header.Recover(context.Background(), name, header.Options{}); state != header.Old || err != nil {
				return fmt.Errorf("Recover: state %v, %w", state, err)
			}
			ack(round)
		}
		return nil
	})
}

func (s *interruptedShift) check(dir string, acked []int) error {
	name := filepath.Join(dir, headedName)
	switch x, err := s.gap(name); {
	case err != nil:
		return err
	case x > s.x && x < manyExtents:
		s.middle.Add(1)
	}
	if _, err := header.Recover(context.Background(), name, header.Options{}); err != nil {
		return fmt.Errorf("Recover: %w: %w", prove.ErrLost, err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if sha256.Sum256(b) != s.base {
		return fmt.Errorf("the file, %d bytes, is not what it was: %w", len(b), prove.ErrLost)
	}
	return nil
}

// gap returns the first block of the file that is a hole.
func (s *interruptedShift) gap(name string) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	extents, err := sys.Extents(f)
	end := int64(0)
	for _, e := range extents {
		if e.Off > end {
			break
		}
		end = e.Off + e.Len
	}
	return end / s.block, err
}

// Whenever the power is cut while Recover ends an interrupted shift, the next
// Recover ends it.
func TestRecover(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		if fs == "btrfs" {
			t.Skip("btrfs does not shift")
		}
		for _, x := range []int64{0, manyExtents / 2, manyExtents} {
			s := &interruptedShift{x: x}
			prove.Holds(t, fs, s.check, []prove.Case[int]{{Name: fmt.Sprint("from block ", x), Work: s.work, Prepare: s.prepare}})
			t.Cleanup(func() {
				t.Logf("from block %d: %d of %d cuts were in the middle of it", x, s.middle.Load(), prove.Cuts())
			})
		}
	})
}

// shiftAlone is a shift as it is usually done, without an intent: insert a range, write
// into it, sync.
func shiftAlone(name string) (header.Result, error) {
	const block = 4096
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return header.Result{}, err
	}
	err = sys.InsertRange(f, 0, block)
	if err == nil {
		_, err = f.WriteAt(headText("alone", block), 0)
	}
	return header.Result{Strategy: header.Shift}, errors.Join(err, f.Sync(), f.Close())
}

// copyDirect is a copy past the page cache that is not flushed.
func copyDirect(name string) (header.Result, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return header.Result{}, err
	}
	b = append(headText("direct", 1000), b...)
	return header.Result{Strategy: header.Copy}, prove.ReplaceUnflushed(filepath.Dir(name), filepath.Base(name), b)
}

func times(n int, step headStep) []headStep { return slices.Repeat([]headStep{step}, n) }

// A mutant without a sync, or without the intent, is caught.
func TestMutants(t *testing.T) {
	const skip, writeOnly = crashtest.SkipSync, crashtest.WriteOnly
	even := func(s crashtest.Sync) bool { return s.N%2 == 0 }
	odd := func(s crashtest.Sync) bool { return s.N%2 == 1 }
	prove.EachFS(t, func(t *testing.T, fs string) {
		var mutants []prove.Mutant[int]
		add := func(name string, w headWay, h *headed, onSync func(crashtest.Sync) crashtest.SyncFault) *prove.Mutant[int] {
			if slices.Contains(w.fs, fs) {
				mutants = append(mutants, prove.Mutant[int]{Name: name, Work: h.work, Prepare: w.prepare, OnSync: onSync, Check: h.check})
				return &mutants[len(mutants)-1]
			}
			return new(prove.Mutant[int])
		}
		for _, name := range []string{"Copy", "KernelCopy", "Clone", "Slot", "Shift"} {
			w := headWayOf(name)
			add(name+" at level Kill", w, w.at(durability.Kill), nil)
		}
		for _, name := range []string{"Copy", "KernelCopy", "Clone"} {
			w := headWayOf(name)
			add(name+", directory not synced", w, w.at(durability.Power), prove.Where(skip, prove.OfRoot))
			add(name+", directory with sync_file_range", w, w.at(durability.Power), prove.Where(writeOnly, prove.OfRoot))
			add(name+", content not synced", w, w.at(durability.Power), prove.Where(skip, prove.OfFile))
			// As with atomicfile: the journal's flush covers what was written.
			add(name+", content with sync_file_range", w, w.at(durability.Power), prove.Where(writeOnly, prove.OfFile)).Covered = fs != "btrfs"
		}
		slot, shift, many := headWayOf("Slot"), headWayOf("Shift"), headWayOf("Shift of many extents")
		for _, f := range []struct {
			name  string
			fault crashtest.SyncFault
		}{{"not synced", skip}, {"with sync_file_range", writeOnly}} {
			// btrfs writes to new blocks, so that a slot is not torn there.
			add("Slot, intent "+f.name, slot, slot.at(durability.Power), prove.Where(f.fault, prove.OfCall("fsync"))).Covered = fs == "btrfs"
			add("Slot, content "+f.name, slot, slot.at(durability.Power), prove.Where(f.fault, prove.OfCall("fdatasync")))
			add("Shift "+f.name, shift, shift.at(durability.Power), prove.Where(f.fault, odd))
			// The intent is in the journal, and in it before the shift.
			add("Shift, intent "+f.name, shift, shift.at(durability.Power), prove.Where(f.fault, even)).Covered = true
		}
		add("Shift without an intent", many, &headed{steps: times(8, shiftAlone), beside: true}, nil)
		cp := headWayOf("Copy")
		add("O_DIRECT and no flush", cp, &headed{steps: times(6, copyDirect)}, nil)
		prove.Mutants(t, fs, nil, mutants)
	})
}
