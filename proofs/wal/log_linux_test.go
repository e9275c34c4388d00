package wal_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stele-go/stele/proofs/internal/prove"
	"github.com/stele-go/stele/wal"
)

// The proof of package wal: after any crash it opens, and holds what was
// acknowledged, whole, in its order, and nothing that was never written.

// A walNote is an entry of the ledger of a log.
type walNote struct {
	Begun string       // ID of a record that may be there from now on
	Acked string       // ID of a record that is there, at Pos
	Pos   wal.Position // 0 in a note of a truncation
	// Records before these are gone, or may be.
	Truncated, Truncating wal.Position
}

// walRecord returns the record of an ID, which it begins with. No two are equal.
func walRecord(id string) []byte {
	h := fnv.New32a()
	h.Write([]byte(id))
	most := 300
	if strings.HasPrefix(id, "large") {
		most = 15_000
	}
	return []byte(id + "|" + strings.Repeat(id+".", int(h.Sum32())%most/(len(id)+1)) + "|")
}

// walOptions has small segments, so that they are used up and recycled soon.
func walOptions() wal.Options {
	return wal.Options{SegmentSize: 64 << 10, Sync: wal.SyncFdatasync}
}

// A walWriter does the steps of a test to a log, and keeps the ledger.
type walWriter struct {
	dir  string
	o    wal.Options
	ack  func(walNote)
	log  *wal.Log
	made int
	next wal.Position
}

func newWalWriter(dir string, o wal.Options, ack func(walNote)) (*walWriter, error) {
	w := &walWriter{dir: dir, o: o, ack: ack}
	return w, w.open()
}

func (w *walWriter) open() (err error) {
	// The lock of a log that was just closed may be held a moment longer: a
	// process that is being started elsewhere in this one has a copy of its
	// descriptor until it execs.
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		w.log, err = wal.Open(w.dir, w.o)
		if !errors.Is(err, wal.ErrLocked) || time.Since(begin) > 2*time.Minute {
			break
		}
	}
	if err != nil {
		return err
	}
	_, w.next = w.log.Bounds()
	return nil
}

func (w *walWriter) id(kind string) string {
	w.made++
	return fmt.Sprintf("%s-%d", kind, w.made)
}

func (w *walWriter) close() error {
	if w.log == nil {
		return nil
	}
	return w.log.Close()
}

// do makes one step: "append", "batch", "truncate", "reopen" or "sync".
func (w *walWriter) do(step string) error {
	ctx := context.Background()
	switch step {
	case "append":
		id := w.id("small")
		w.ack(walNote{Begun: id})
		pos, err := w.log.Append(ctx, walRecord(id))
		if err != nil {
			return err
		}
		w.ack(walNote{Acked: id, Pos: pos})
		w.next = pos + 1
	case "batch":
		var ids []string
		var recs [][]byte
		for _, kind := range []string{"small", "large", "large"} {
			id := w.id(kind)
			w.ack(walNote{Begun: id})
			ids, recs = append(ids, id), append(recs, walRecord(id))
		}
		pos, err := w.log.AppendBatch(ctx, recs)
		if err != nil {
			return err
		}
		for i, id := range ids {
			w.ack(walNote{Acked: id, Pos: pos + wal.Position(i)})
		}
		w.next = pos + wal.Position(len(ids))
	case "truncate":
		first, _ := w.log.Bounds()
		pos := first + (w.next-first+1)/2
		w.ack(walNote{Truncating: pos})
		if err := w.log.TruncateBefore(pos); err != nil {
			return err
		}
		w.ack(walNote{Truncated: pos})
	case "sync":
		return w.log.Sync()
	case "reopen":
		if err := w.log.Close(); err != nil {
			return err
		}
		w.log = nil
		return w.open()
	}
	return nil
}

var walSteps = []string{"append", "batch", "truncate", "reopen", "sync"}

// walRun makes steps and closes the log.
func walRun(o wal.Options, steps []string) func(dir string, ack func(walNote)) error {
	return func(dir string, ack func(walNote)) error {
		w, err := newWalWriter(dir, o, ack)
		if err != nil {
			return err
		}
		for _, step := range steps {
			if err := w.do(step); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", step, err), w.close())
			}
		}
		return w.close()
	}
}

// walParallel appends from goroutines at once, while the log is truncated.
func walParallel(o wal.Options, goroutines, records int) func(dir string, ack func(walNote)) error {
	return func(dir string, ack func(walNote)) error {
		l, err := wal.Open(dir, o)
		if err != nil {
			return err
		}
		err = prove.Parallel(goroutines, func(g int) error {
			for i := range records {
				id := fmt.Sprintf("%s-%d-%d", []string{"small", "large"}[(i+g)%3/2], g, i)
				ack(walNote{Begun: id})
				pos, err := l.Append(context.Background(), walRecord(id))
				if err != nil {
					return err
				}
				ack(walNote{Acked: id, Pos: pos})
				if g == 0 && i%8 == 7 {
					keep := max(1, pos-min(pos, 20))
					ack(walNote{Truncating: keep})
					if err := l.TruncateBefore(keep); err != nil {
						return err
					}
					ack(walNote{Truncated: keep})
				}
			}
			return nil
		})
		return errors.Join(err, l.Close())
	}
}

// checkWal opens what a crash has left, reads it, and goes on with it.
func checkWal(dir string, ledger []walNote) error {
	begun, at := map[string]bool{}, map[string]wal.Position{}
	var truncated, truncating wal.Position = 1, 1
	for _, n := range ledger {
		switch {
		case n.Begun != "":
			begun[n.Begun] = true
		case n.Acked != "":
			at[n.Acked] = n.Pos
		}
		truncated, truncating = max(truncated, n.Truncated), max(truncating, n.Truncating)
	}
	salvaged, err := salvage(dir, begun)
	if err != nil {
		return err
	}
	l, err := wal.Open(dir, walOptions())
	if err != nil {
		return fmt.Errorf("open: %w: %w", prove.ErrLost, err)
	}
	defer l.Close()
	first, next := l.Bounds()
	if first < truncated || first > truncating {
		return fmt.Errorf("the log begins at %d; it was truncated before %d, and was going to be before %d: %w", first, truncated, truncating, prove.ErrLost)
	}
	found := map[string]bool{}
	want := first
	for rec, err := range l.All(0) {
		if err != nil {
			return fmt.Errorf("read %d: %w: %w", want, prove.ErrLost, err)
		}
		id, _, _ := strings.Cut(string(rec.Data), "|")
		switch {
		case rec.Position != want:
			return fmt.Errorf("position %d, want %d: %w", rec.Position, want, prove.ErrLost)
		case !begun[id] || string(walRecord(id)) != string(rec.Data):
			return fmt.Errorf("position %d holds %.40q, which was never written: %w", want, rec.Data, prove.ErrLost)
		case at[id] != 0 && at[id] != rec.Position:
			return fmt.Errorf("%s is at %d, and was acknowledged at %d: %w", id, rec.Position, at[id], prove.ErrLost)
		case found[id]:
			return fmt.Errorf("%s is there twice: %w", id, prove.ErrLost)
		case salvaged[want] != id:
			return fmt.Errorf("position %d holds %s, and Salvage found %q: %w", want, id, salvaged[want], prove.ErrLost)
		}
		found[id] = true
		want++
	}
	if want != next {
		return fmt.Errorf("the log ends before %d, and says %d: %w", want, next, prove.ErrLost)
	}
	for id, pos := range at {
		if pos >= first && !found[id] {
			return fmt.Errorf("%s at %d: %w", id, pos, prove.ErrLost)
		}
	}
	return goOn(l, dir, next)
}

// salvage returns the IDs of the records that Salvage finds in what a crash has
// left: those that Open will find, and perhaps of a torn tail more, all of which
// have begun to be written.
func salvage(dir string, begun map[string]bool) (map[wal.Position]string, error) {
	in, err := wal.Inspect(dir)
	if err != nil {
		return nil, nil // Open finds out why; perhaps there is no log yet
	}
	ids := map[wal.Position]string{}
	for rec, err := range in.Salvage(0) {
		if err != nil || rec.Type != "data" {
			continue
		}
		id, _, _ := strings.Cut(string(rec.Data), "|")
		if !begun[id] || string(walRecord(id)) != string(rec.Data) {
			return nil, fmt.Errorf("Salvage finds %.40q at position %d, which was never written: %w", rec.Data, rec.Position, prove.ErrLost)
		}
		ids[rec.Position] = id
	}
	return ids, nil
}

// goOn appends to a recovered log, and reads the record back.
func goOn(l *wal.Log, dir string, next wal.Position) error {
	rec := walRecord("large-after")
	pos, err := l.Append(context.Background(), rec)
	if err != nil || pos != next {
		return fmt.Errorf("append after recovery: position %d, want %d: %w", pos, next, err)
	}
	r, err := l.Reader(pos)
	if err != nil {
		return err
	}
	got, err := r.Next()
	if err != nil || string(got.Data) != string(rec) {
		return errors.Join(fmt.Errorf("what was appended after recovery reads as %.20q: %w", got.Data, err), r.Close())
	}
	if err := errors.Join(r.Close(), l.Close()); err != nil {
		return fmt.Errorf("close after recovery: %w", err)
	}
	rep, err := wal.Verify(dir)
	if err == nil && (!rep.Clean || rep.Next != pos+1) {
		err = fmt.Errorf("after a clean close: %+v", rep)
	}
	return err
}

// oldWal makes an empty log.
func oldWal(dir string) error {
	l, err := wal.Open(dir, walOptions())
	if err != nil {
		return err
	}
	return l.Close()
}

func randomSteps(rng *rand.Rand, n int) []string {
	steps := make([]string, n)
	for i := range steps {
		steps[i] = walSteps[[]int{0, 0, 1, 1, 2, 3, 4}[rng.IntN(7)]]
	}
	return steps
}
