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

// A creator creates a new file and fills it. The caller commits the file that it
// returns; it returns nil for a file of a batch.
type creator func(o atomicfile.Options, perm fs.FileMode, fill func(content) error) (*atomicfile.File, error)

// content is the new file that fill writes.
type content interface {
	io.Writer
	syscall.Conn
}

// rewrite implements the strategies Clone, KernelCopy and Copy: it writes a new file,
// which is the old one with another head. The caller commits it.
func (t *target) rewrite(e *edit, o Options, how Strategy, layout sys.Layout, create creator) (*atomicfile.File, Result, error) {
	p, err := t.plan(e, how, o, layout)
	if err != nil {
		return nil, Result{}, err
	}
	res := Result{
		Strategy: how, Header: e.header, Pad: p.pad(e), Moved: int64(len(p.head)) - e.oldLen,
		Promise: durability.Promise{Level: o.Level},
	}
	f, err := create(t.atomicfile(o), t.info.Mode().Perm(), func(to content) error {
		if err := t.fill(to, e, p, how); err != nil {
			return err
		}
		if err := t.unchanged(layout); err != nil {
			return err
		}
		return control(to, func(fd int) error { return t.writeMetadata(fd, e, p, o, &res) })
	})
	if err != nil {
		return nil, Result{}, err
	}
	return f, res, nil
}

var (
	// errShrunk means that a program without the lock has truncated the file.
	errShrunk = fmt.Errorf("the file was truncated during the change: %w", io.ErrUnexpectedEOF)
	// errConcurrentChange means that a program without the lock has written to the
	// file: the new file would undo that.
	errConcurrentChange = fmt.Errorf("a program that does not hold the lock changed the file during the change; try again: %w", syscall.EBUSY)
)

// unchanged returns an error unless the file is still the one that was locked, as it
// was then. This detects most changes by programs that do not take the lock, and
// truncations that a mapping shows as zeros in the last page.
func (t *target) unchanged(layout sys.Layout) error {
	now, err := t.lstat()
	switch {
	case err != nil:
		return fmt.Errorf("stat: %w", bare(err))
	case !os.SameFile(now, t.info):
		return errConcurrentChange
	case now.Size() < t.size():
		return errShrunk
	case now.Size() > t.size(), !now.ModTime().Equal(t.info.ModTime()) && !layout.Remote(): // a server has clocks and caches of its own
		return errConcurrentChange
	}
	return nil
}

// A plan describes the new file: head, then the old file from offset from on.
type plan struct {
	head   []byte
	record *record
	from   int64 // in the old file
	to     int64 // in the new one
	size   int64 // of the new one
	layout sys.Layout
}

// pad returns the length of the padding after the header.
func (p *plan) pad(e *edit) int64 { return padding(e, p.head, p.record) }

func padding(e *edit, head []byte, r *record) int64 {
	if r != nil && e.padSlot >= 0 && e.padSlot < len(r.slots) {
		return r.slots[e.padSlot].free()
	}
	return int64(len(head) - len(e.fixed))
}

// minClone is the size in bytes from which Auto shares blocks instead of copying
// them: sharing first writes out the old file's dirty pages.
const minClone = 1 << 20

func (t *target) plan(e *edit, how Strategy, o Options, layout sys.Layout) (p *plan, err error) {
	p = &plan{from: e.oldLen, layout: layout}
	extra := int64(0)
	if how == Clone {
		if layout.NoSharing() {
			return nil, notApplicable("this file system does not share blocks between files", nil)
		}
		if extra, err = e.padToBlock(layout.Block); err != nil {
			return nil, err
		}
		p.from = (e.oldLen + layout.Block - 1) / layout.Block * layout.Block
		switch rest := t.size() - p.from; {
		case rest <= 0:
			return nil, notApplicable("the file has no whole block to share", nil)
		case rest < minClone && o.Strategy == Auto:
			return nil, notApplicable("a file this small is copied faster", nil)
		}
	}
	p.head, p.record = e.build(extra)
	p.to = int64(len(p.head)) + p.from - e.oldLen
	if t.size() > math.MaxInt64-p.to {
		return nil, syscall.EFBIG
	}
	p.size = p.to + t.size() - p.from
	return p, nil
}

// writeMetadata sets the new file's record and, with KeepTimes, its times.
func (t *target) writeMetadata(fd int, e *edit, p *plan, o Options, res *Result) error {
	if p.record != nil && e.recordErr == nil {
		inode, err := sys.InodeOf(fd)
		if err != nil {
			return fmt.Errorf("stat: %w", err)
		}
		err = sys.SetAttr(fd, recordName, p.record.encode(inode))
		switch {
		case err == nil:
		case sys.NoRoomForAttr(err) && !e.needsRecord:
			res.addWhy(fmt.Sprintf("no record: %v", err))
		default:
			return fmt.Errorf("write record: %w", err)
		}
	}
	if o.KeepTimes {
		if err := t.restoreTimes(fd); err != nil {
			return fmt.Errorf("set times: %w", err)
		}
	}
	return nil
}

// control calls do with the descriptor of new content, which stays open during the
// call.
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

// buffers holds the buffers of copies through memory.
var buffers = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// pieceSize is the size in bytes below which mapping a file costs more than copying
// it twice.
const pieceSize = 256 << 10

// keepMask returns Options.Keep with its default, and always with the permissions,
// because the new file has the old content.
func (o Options) keepMask() atomicfile.Keep {
	if o.Keep == 0 {
		return keepable
	}
	return o.Keep&^atomicfile.KeepNothing | atomicfile.KeepMode
}

func (t *target) atomicfile(o Options) atomicfile.Options {
	ao := atomicfile.Options{Level: o.Level, Keep: o.keepMask(), Links: atomicfile.RefuseLinks, OneMount: o.OneMount}
	if t.dir != nil {
		ao.Root = t.dir.root
	}
	return ao
}

func (r *Result) addWhy(why string) {
	if r.Why != "" {
		r.Why += "; "
	}
	r.Why += why
}

func isNotApplicable(err error) bool { return errors.Is(err, errNotApplicable) }
