package logstore

import (
	"context"
	"slices"
	"sync"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A Folder takes entries where they are read, to sum up what they say: numbers
// in their lines, for example, of which Aggregate knows nothing.
type Folder interface {
	// Fold takes an entry. Its line and its metadata are valid during the call only:
	// Labels.Clone copies metadata. An error ends the call of Store.Fold, which returns
	// it; a panic does so as a *PanicError.
	// Other queries wait for memory and processors that the call has meanwhile.
	Fold(r Result) error
}

// Fold passes each entry that Query would find without Limit and Order to a
// Folder, in no order, and returns when all have been. Nothing is copied, sorted
// or merged: it is the fastest way to read all that a query selects.
//
// The entries are read by several goroutines. Each uses a Folder of its own,
// which it gets by begin: begin is called by one goroutine at a time, at least
// once if there are entries, and at most as often as goroutines read at once. No
// Folder is in use once Fold has returned: the caller, which has kept what begin
// returned, adds them up.
//
// With Query.Cursors entries have cursors, which tell their order. With Query.NoLines entries come without their lines,
// and with Query.Fields by fields of their lines.
//
// What a Folder keeps is to be counted by charge, in bytes: all Folders of a call
// may keep as much as the groups of an Aggregate. charge returns the error that
// Fold is then to end with, a *LimitError or a *BusyError. Many goroutines may call it
// at once; what was charged is free when Fold returns.
//
// If some entries cannot be read, the others are folded, and the error wraps a
// *CorruptError for each damaged place. During replay it wraps ErrReplaying, and
// ErrIncomplete where Query ends with that. After any other error some entries are missing.
func (s *Store) Fold(ctx context.Context, q Query, begin func(charge func(bytes int64) error) Folder) error {
	q.Limit, q.Order, q.folds = 0, Forward, true
	partial, err := s.scanAll(ctx, q, func(x *search) task { return &foldTask{begin: begin, charge: x.sums.charge} })
	if err == nil {
		err = partial
	}
	if err != nil {
		return s.opError("fold entries of", err)
	}
	return nil
}

// foldTask passes the matching entries of leaves to Folders.
type foldTask struct {
	begin  func(charge func(bytes int64) error) Folder
	charge func(bytes int64) error

	mu   sync.Mutex
	idle []Folder
}

func (*foldTask) yields() bool { return false }

func (t *foldTask) visit(r *reading, l leaf, bound int64, _ allotment, out *outcome) {
	r.fields.begin()
	var rest leaf
	var err error
	if b, ok := l.(*blockLeaf); ok && r.x.fields != nil {
		err = b.pickFields(r, bound)
	} else {
		rest, err = l.pick(r, bound, unordered)
	}
	if err != nil {
		out.add(err)
		return
	}
	if rest != nil {
		out.more = append(out.more, rest)
	}
	if r.fields.columns || len(r.picks) > 0 {
		// An error of the caller ends the scan, whatever it is.
		if err := t.fold(r, l, out.add); err != nil && out.err == nil {
			out.err = err
		}
	}
}

// fold passes the picks to a Folder, and damage to fail.
func (t *foldTask) fold(r *reading, l leaf, fail func(error)) (err error) {
	defer catchPanicOf("the Folder", &err)
	var id func(pick) segment2.ID
	if r.x.cursors {
		if id, err = l.ids(r); err != nil {
			fail(err)
			return nil
		}
	}
	f := t.folder()
	if b, ok := l.(*blockLeaf); ok && r.fields.columns {
		if err := b.foldFields(r, f, fail); err != nil {
			return err
		}
	}
	if err := t.foldLines(r, l, f, id, fail); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = append(t.idle, f)
	return nil
}

// foldLines passes the picks with their lines.
func (t *foldTask) foldLines(r *reading, l leaf, f Folder, id func(pick) segment2.ID, fail func(error)) error {
	var entry Result
	var view metadataView
	lost := true
	span := int32(-1)
	lines := r.lineReader()
	hasMeta := r.mem != nil || r.block.HasMeta()
	for i, p := range r.picks {
		line := lines.line(r, p)
		if err := r.check(i, line); err != nil {
			return err
		}
		if p.span != span {
			span = p.span
			enc, _, err := l.stream(r, span)
			if lost = err != nil; lost {
				fail(err)
			} else {
				entry.Labels = r.x.store.names.of(enc)
			}
		}
		if lost {
			continue
		}
		entry.Time, entry.Line = p.time, line
		if hasMeta {
			var err error
			if entry.Metadata, err = view.set(r.meta(p)); err != nil {
				fail(l.corrupt(err))
				continue
			}
		}
		if id != nil {
			entry.id = id(p)
		}
		if err := f.Fold(entry); err != nil {
			return err
		}
	}
	return nil
}

// A lineReader returns the lines of a reading. Those of a block it finds with few steps.
type lineReader struct {
	text   []byte
	starts []uint32 // nil: the lines are not those of a block
}

func (r *reading) lineReader() (f lineReader) {
	if r.mem == nil && !r.lineless {
		f.text, f.starts = r.block.Text()
	}
	return f
}

// line returns a line of r, to which appending does not overwrite the next one. It is nil if
// the search has no use for lines.
func (f *lineReader) line(r *reading, p pick) []byte {
	if r.x.noLines {
		return nil
	}
	if f.starts == nil {
		return slices.Clip(r.line(p))
	}
	from, to := f.starts[p.row], f.starts[p.row+1]-1
	return f.text[from:to:to]
}

// folder returns a Folder that no goroutine uses.
func (t *foldTask) folder() Folder {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.idle); n > 0 {
		f := t.idle[n-1]
		t.idle = t.idle[:n-1]
		return f
	}
	return t.begin(t.charge)
}
