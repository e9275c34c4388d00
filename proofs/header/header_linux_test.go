package header_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of package header: whenever the power is cut, Recover succeeds. Then the
// file is as after the last acknowledged step or as after the next one, whole, and Read
// returns its header.

const headedName = "file"

// A headStep is one change of the file.
type headStep func(name string) (header.Result, error)

func insert(text string, n int, o header.Options) headStep {
	return func(name string) (header.Result, error) {
		return header.Insert(context.Background(), name, headText(text, n), o)
	}
}

func replace(text string, n int, o header.Options) headStep {
	return func(name string) (header.Result, error) {
		return header.Replace(context.Background(), name, headText(text, n), o)
	}
}

func remove(o header.Options) headStep {
	return func(name string) (header.Result, error) { return header.Remove(context.Background(), name, o) }
}

// swap swaps the first `old` bytes, whatever they are.
func swap(old int, text string, n int, o header.Options) headStep {
	return func(name string) (header.Result, error) {
		b, err := os.ReadFile(name)
		if err != nil {
			return header.Result{}, err
		}
		return header.Swap(context.Background(), name, b[:old], headText(text, n), o)
	}
}

// headText returns n bytes that repeat text.
func headText(text string, n int) []byte {
	return bytes.Repeat([]byte(text+"\n"), n/(len(text)+1)+1)[:n]
}

// A headed is work on one file, step by step. The ledger has the number of each step; what
// the file is after each is kept in memory.
type headed struct {
	way     header.Strategy // that each step must take; Auto: any
	steps   []headStep
	beside  bool // another goroutine syncs another file meanwhile
	after   []headedFile
	partial atomic.Int64 // cuts that left neither old nor new before Recover
	old     atomic.Int64 // cuts that Recover rolled back
	new     atomic.Int64 // cuts that Recover rolled forward
}

type headedFile struct {
	sum [sha256.Size]byte
	top string // what Read returns
}

func lookAt(name string) (headedFile, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return headedFile{}, err
	}
	top, err := header.Read(context.Background(), name, header.Options{})
	if err != nil && !errors.Is(err, header.ErrNoHeader) {
		return headedFile{}, err
	}
	return headedFile{sha256.Sum256(b), string(top)}, nil
}

func (h *headed) work(dir string, ack func(step int)) error {
	name := filepath.Join(dir, headedName)
	now, err := lookAt(name)
	if err != nil {
		return err
	}
	h.after = []headedFile{now}
	for i, step := range h.steps {
		res, err := h.do(step, name)
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		if h.way != header.Auto && res.Strategy != h.way {
			return fmt.Errorf("step %d was done by %v, not %v: %s", i+1, res.Strategy, h.way, res.Why)
		}
		ack(i + 1)
		if now, err = lookAt(name); err != nil {
			return err
		}
		h.after = append(h.after, now)
	}
	return nil
}

func (h *headed) do(step headStep, name string) (res header.Result, err error) {
	if !h.beside {
		return step(name)
	}
	err = besideSyncs(filepath.Dir(name), func() error {
		res, err = step(name)
		return err
	})
	return res, err
}

// besideSyncs calls do while another file grows and is synced again and again, so that
// the journal is written in the middle of do.
func besideSyncs(dir string, do func() error) error {
	f, err := os.Create(filepath.Join(dir, "beside"))
	if err != nil {
		return err
	}
	end, failed := make(chan struct{}), make(chan error)
	begun := sync.OnceFunc(func() { failed <- nil })
	go func() {
		for {
			_, err := f.Write([]byte{'x'})
			err = errors.Join(err, f.Sync())
			begun()
			select {
			case <-end:
				failed <- errors.Join(err, f.Close())
				return
			default:
			}
		}
	}()
	<-failed
	err = do()
	close(end)
	return errors.Join(err, <-failed)
}

func (h *headed) check(dir string, acked []int) error {
	name := filepath.Join(dir, headedName)
	may := h.after[len(acked):min(len(acked)+2, len(h.after))]
	among := func(f headedFile) bool {
		for _, m := range may {
			if m.sum == f.sum {
				return true
			}
		}
		return false
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%w: %w", prove.ErrLost, err)
	}
	if !among(headedFile{sum: sha256.Sum256(b)}) {
		h.partial.Add(1)
	}
	intent, _ := intentOf(name)
	state, err := header.Recover(context.Background(), name, header.Options{})
	switch {
	case err != nil:
		return fmt.Errorf("Recover: %w: %w", prove.ErrLost, err)
	case state == header.Old:
		h.old.Add(1)
	case state == header.New:
		h.new.Add(1)
	}
	now, err := lookAt(name)
	if err != nil {
		return err
	}
	if !among(now) {
		return fmt.Errorf("after step %d, Recover gave %v: the file, %d bytes before and now beginning with %.40q, is neither what it was then nor what the next step makes of it; the intent was %x: %w",
			len(acked), state, len(b), firstOf(name), intent, prove.ErrLost)
	}
	if now != may[0] && now != may[len(may)-1] {
		return fmt.Errorf("after step %d: Read returns %.20q (%d bytes), which is not the header of this content: %w", len(acked), now.top, len(now.top), prove.ErrLost)
	}
	if state, err := header.Recover(context.Background(), name, header.Options{}); state != header.Clean || err != nil {
		return fmt.Errorf("after Recover there is something to recover: %v, %w", state, err)
	}
	return nil
}

func intentOf(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return sys.GetAttr(int(f.Fd()), intentAttr)
}

func firstOf(name string) []byte {
	b, _ := os.ReadFile(name)
	return b[:min(len(b), 40)]
}

// prepareHeaded makes the file: some text, not whole blocks.
func prepareHeaded(dir string) error {
	return os.WriteFile(filepath.Join(dir, headedName), headText("line of the content", 300_007), 0o640)
}

// prepareSlot makes the file, with room for a header.
func prepareSlot(dir string) error {
	if err := prepareHeaded(dir); err != nil {
		return err
	}
	_, err := header.Reserve(context.Background(), filepath.Join(dir, headedName), 4096, header.Options{Pad: header.PadByte('\n')})
	return err
}

// manyExtents fill many leaves of the tree of extents: ext4 with its blocks of 1 KiB here
// has 84 in each, XFS with 4 KiB about 250. ext4 lets the journal be written in the
// middle of a shift only after about twenty leaves.
const manyExtents = 8_000

// prepareMany makes a file of manyExtents extents, a block each: a block of another file
// lies between any two. One in four is written, and all of the first ones.
func prepareMany(dir string) (err error) {
	f, err := os.Create(filepath.Join(dir, headedName))
	if err != nil {
		return err
	}
	other, err := os.Create(filepath.Join(dir, "other"))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	defer func() { err = errors.Join(err, f.Close(), other.Close(), os.Remove(other.Name())) }()
	layout, err := sys.LayoutOf(f)
	if err != nil {
		return err
	}
	for i := range manyExtents {
		off := int64(i) * layout.Block
		if err := errors.Join(fileop.Fallocate(f, 0, off, layout.Block), fileop.Fallocate(other, 0, off, layout.Block)); err != nil {
			return err
		}
		if i%4 == 0 || i < 16 {
			if _, err := f.WriteAt(headText(fmt.Sprint("block ", i), int(layout.Block)), off); err != nil {
				return err
			}
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	extents, err := sys.Extents(f)
	if err == nil && len(extents) < manyExtents*9/10 {
		err = fmt.Errorf("the file has %d extents, fewer than it must", len(extents))
	}
	return err
}

// A headWay is a strategy and the steps that prove it.
type headWay struct {
	name            string
	way             header.Strategy
	steps           func(o header.Options) []headStep
	inPlace, padded bool
	prepare         func(dir string) error
	beside          bool
	fs              []string
}

var (
	anyFS      = []string{"ext4", "xfs", "btrfs"}
	cloningFS  = []string{"xfs", "btrfs"}
	shiftingFS = []string{"ext4", "xfs"}
)

// exact changes go by single bytes, as copies can.
func exact(o header.Options) []headStep {
	return []headStep{
		insert("first", 100, o), insert("second", 5000, o), replace("third", 6001, o),
		remove(o), swap(50, "fourth", 70, o), swap(0, "fifth", 9, o), insert("sixth", 1, o), remove(o),
	}
}

// whole changes are whole blocks, with padding where that is needed.
func whole(o header.Options) []headStep {
	return []headStep{
		insert("first", 100, o), insert("second", 5000, o), remove(o),
		swap(0, "third", 4096, o), swap(4096, "", 0, o), insert("fourth", 3*4096, o), remove(o),
	}
}

// inSlot stays within the 4 KiB that are reserved, and writes two sectors, which can be
// torn apart. More would not fit into an attribute on ext4 with 1 KiB blocks.
func inSlot(o header.Options) []headStep {
	return []headStep{
		insert("first", 500, o), insert("second", 60, o), replace("third", 250, o),
		remove(o), swap(600, "fourth", 600, o), swap(550, "fifth", 550, o),
	}
}

var headWays = []headWay{
	{name: "Copy", way: header.Copy, steps: exact, prepare: prepareHeaded, fs: anyFS},
	{name: "KernelCopy", way: header.KernelCopy, steps: exact, prepare: prepareHeaded, fs: anyFS},
	{name: "Clone", way: header.Clone, steps: whole, padded: true, prepare: prepareHeaded, fs: cloningFS},
	{name: "Slot", way: header.Slot, steps: inSlot, inPlace: true, padded: true, prepare: prepareSlot, fs: anyFS},
	{name: "Shift", way: header.Shift, steps: whole, inPlace: true, padded: true, prepare: prepareHeaded, fs: shiftingFS},
	{name: "Shift of many extents", way: header.Shift, steps: whole, inPlace: true, padded: true, prepare: prepareMany, beside: true, fs: shiftingFS},
	{name: "Auto", way: header.Auto, steps: exact, prepare: prepareHeaded, fs: anyFS},
	{name: "Auto in place", way: header.Auto, steps: whole, inPlace: true, padded: true, prepare: prepareSlot, beside: true, fs: anyFS},
}

// options of the way, at a level.
func (w headWay) options(level durability.Level) header.Options {
	o := header.Options{Strategy: w.way, Level: level}
	if w.padded {
		o.Pad = header.PadByte('\n')
	}
	if w.inPlace {
		o.Mode = header.InPlace
	}
	return o
}

func (w headWay) at(level durability.Level) *headed {
	return &headed{way: w.way, steps: w.steps(w.options(level)), beside: w.beside}
}

func headWayOf(name string) headWay {
	for _, w := range headWays {
		if w.name == name {
			return w
		}
	}
	panic(name)
}
