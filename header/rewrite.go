package header

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"syscall"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// A creator writes new content for a file: for one that it returns, to be
// committed by the caller, or for one of a batch.
type creator func(o atomicfile.Options, perm fs.FileMode, fill func(content) error) (*atomicfile.File, error)

// content is what a new file is filled through.
type content interface {
	io.Writer
	syscall.Conn
}

// rewrite is the strategies Clone, KernelCopy and Copy: it makes a new file,
// which is the old one with another head. To commit it is the caller's.
func (t *target) rewrite(e *edit, o Options, how Strategy, layout sys.Layout, create creator) (*atomicfile.File, Result, error) {
	p, err := t.plan(e, how, o, layout)
	if err != nil {
		return nil, Result{}, err
	}
	res := Result{
		Strategy: how, Header: e.header, Pad: p.pad(e), Moved: int64(len(p.head)) - e.cut,
		Promise: durability.Promise{Level: o.Level},
	}
	f, err := create(t.atomicfile(o), t.info.Mode().Perm(), func(to content) error {
		if err := t.fill(to, e, p, how); err != nil {
			return err
		}
		if err := t.unchanged(layout); err != nil {
			return err
		}
		return control(to, func(fd int) error { return t.note(fd, e, p, o, &res) })
	})
	if err != nil {
		return nil, Result{}, err
	}
	return f, res, nil
}

var (
	// errShrunk: somebody who does not take the lock has cut the file.
	errShrunk = fmt.Errorf("the file became shorter meanwhile: %w", io.ErrUnexpectedEOF)
	// errMeanwhile: the new file would undo what somebody else has written.
	errMeanwhile = fmt.Errorf("somebody who does not hold the lock has changed the file meanwhile: %w", syscall.EBUSY)
)

// unchanged tells whether the file is still the one that was locked, as it
// was then. Who does not take the lock is so found out in most cases; and in a
// mapping the last page of a file that was cut reads as zeros.
func (t *target) unchanged(layout sys.Layout) error {
	now, err := t.lstat()
	switch {
	case err != nil:
		return fmt.Errorf("stat: %w", bare(err))
	case !os.SameFile(now, t.info):
		return errMeanwhile
	case now.Size() < t.size():
		return errShrunk
	case now.Size() > t.size(), !now.ModTime().Equal(t.info.ModTime()) && !layout.Remote(): // whose times are another's
		return errMeanwhile
	}
	return nil
}

// A plan is how a new file is made of the old one: head, then the old file
// from the byte `from` on.
type plan struct {
	head   []byte
	record *record
	from   int64 // in the old file
	to     int64 // in the new one
	size   int64 // of the new one
	layout sys.Layout
}

// pad is how much padding is behind the header.
func (p *plan) pad(e *edit) int64 { return padding(e, p.head, p.record) }

func padding(e *edit, head []byte, r *record) int64 {
	if r != nil && e.last >= 0 && e.last < len(r.slots) {
		return r.slots[e.last].room()
	}
	return int64(len(head) - len(e.fixed))
}

// cloneLeast is from how many bytes on Auto shares blocks instead of copying
// them: sharing first writes out what the page cache has of the old file.
const cloneLeast = 1 << 20

func (t *target) plan(e *edit, how Strategy, o Options, layout sys.Layout) (p *plan, err error) {
	p = &plan{from: e.cut, layout: layout}
	extra := int64(0)
	if how == Clone {
		if layout.NoSharing() {
			return nil, unsuited("this file system shares no blocks between files", nil)
		}
		if extra, err = e.extraFor(layout.Block); err != nil {
			return nil, err
		}
		p.from = (e.cut + layout.Block - 1) / layout.Block * layout.Block
		switch rest := t.size() - p.from; {
		case rest <= 0:
			return nil, unsuited("the file has no block to share", nil)
		case rest < cloneLeast && o.Strategy == Auto:
			return nil, unsuited("so small a file is copied faster", nil)
		}
	}
	p.head, p.record = e.finish(extra)
	p.to = int64(len(p.head)) + p.from - e.cut
	if t.size() > math.MaxInt64-p.to {
		return nil, syscall.EFBIG
	}
	p.size = p.to + t.size() - p.from
	return p, nil
}

// note has the new file tell what stands at its head, and since when.
func (t *target) note(fd int, e *edit, p *plan, o Options, res *Result) error {
	if p.record != nil && e.moot == nil {
		inode, err := sys.InodeOf(fd)
		if err != nil {
			return fmt.Errorf("stat: %w", err)
		}
		err = sys.SetAttr(fd, recordName, p.record.encode(inode))
		switch {
		case err == nil:
		case sys.NoRoomForAttr(err) && !e.needsRecord:
			res.addWhy(fmt.Sprintf("nothing is recorded: %v", err))
		default:
			return fmt.Errorf("record: %w", err)
		}
	}
	if o.KeepTimes {
		if err := t.restoreTimes(fd); err != nil {
			return fmt.Errorf("set times: %w", err)
		}
	}
	return nil
}

// control calls do with the descriptor of new content, which stays open
// meanwhile.
func control(f syscall.Conn, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := conn.Control(func(fd uintptr) { err = do(int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}

// buffers are what small pieces are copied through.
var buffers = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// pieceSize in bytes: below it, to map a file costs more than to copy twice.
const pieceSize = 256 << 10

// keeps is what a new file takes over: the permissions always, as it has the
// old content.
func (o Options) keeps() atomicfile.Keep {
	if o.Keep == 0 {
		return keepable
	}
	return o.Keep&^atomicfile.KeepNothing | atomicfile.KeepMode
}

func (t *target) atomicfile(o Options) atomicfile.Options {
	ao := atomicfile.Options{Level: o.Level, Keep: o.keeps(), Links: atomicfile.RefuseLinks, OneMount: o.OneMount}
	if t.folder != nil {
		ao.Root = t.folder.root
	}
	return ao
}

func (r *Result) addWhy(why string) {
	if r.Why != "" {
		r.Why += "; "
	}
	r.Why += why
}

func isUnsuited(err error) bool { return errors.Is(err, errUnsuited) }
