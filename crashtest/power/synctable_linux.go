package power

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// The work of a cell: a few changes of one kind, one after the other, each
// acknowledged. Each kind has a recording of its own: the sync of one kind may
// make another's metadata durable too (a commit of ext4's journal has all that
// is pending), and would hide that the way by itself does not.
const (
	syncSteps = 6
	syncBlock = 4096
)

// syncStep is a change, and an entry of the ledger.
type syncStep struct {
	kind SyncKind
	n    int
}

const (
	syncOldMode, syncNewMode = fs.FileMode(0o600), fs.FileMode(0o640)
	syncNewOwner             = 12345
)

var syncOldTime = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// name returns the file that a step changes. Kinds that change the inode have a
// file for each step: the next write to the same one would change it again.
func (s syncStep) name() string {
	switch s.kind {
	case Overwritten, Appended, HoleFilled:
		return fmt.Sprint("file", int(s.kind))
	}
	return fmt.Sprintf("file%d-%d", int(s.kind), s.n)
}

// offset returns where a step writes.
func (s syncStep) offset() int64 {
	switch s.kind {
	case Overwritten, Appended, HoleFilled:
		return int64(s.n) * syncBlock
	}
	return 0
}

func (s syncStep) data() []byte {
	p := sys.AlignedBuffer(syncBlock, syncBlock)
	copy(p, bytes.Repeat([]byte{byte('A' + s.n)}, syncBlock))
	return p
}

// prepare makes the file as it is before the step. The caller makes it durable.
func (s syncStep) prepare(dir string) error {
	path := filepath.Join(dir, s.name())
	old := bytes.Repeat([]byte{'.'}, syncSteps*syncBlock)
	switch s.kind {
	case NewName:
		return nil
	case Appended:
		return os.WriteFile(path, nil, syncOldMode)
	case HoleFilled:
		if err := os.WriteFile(path, nil, syncOldMode); err != nil {
			return err
		}
		return os.Truncate(path, int64(len(old)))
	}
	if err := os.WriteFile(path, old, syncOldMode); err != nil {
		return err
	}
	return os.Chtimes(path, syncOldTime, syncOldTime)
}

// do makes the change of one step by way w.
func (s syncStep) do(w SyncWay, dir string) (err error) {
	flags := 0
	if s.kind == NewName {
		flags = os.O_CREATE | os.O_EXCL
	}
	f, err := w.Open(filepath.Join(dir, s.name()), flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if s.kind == ModeOwner {
		if err := errors.Join(f.Chown(syncNewOwner, syncNewOwner), f.Chmod(syncNewMode)); err != nil {
			return err
		}
	}
	return w.WriteAt(f, s.data(), s.offset())
}

// check returns an error if the step is lost.
func (s syncStep) check(dir string) error {
	path := filepath.Join(dir, s.name())
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch s.kind {
	case ModTime:
		if fi.ModTime().Equal(syncOldTime) {
			return fmt.Errorf("%s has its old time", s.name())
		}
		return nil
	case ModeOwner:
		owner := fi.Sys().(*syscall.Stat_t)
		if fi.Mode() != syncNewMode || owner.Uid != syncNewOwner || owner.Gid != syncNewOwner {
			return fmt.Errorf("%s has mode %v and owner %d:%d", s.name(), fi.Mode(), owner.Uid, owner.Gid)
		}
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	at, end := s.offset(), s.offset()+syncBlock
	if int64(len(b)) < end {
		return fmt.Errorf("%s has %d bytes, and block %d was acknowledged", s.name(), len(b), s.n)
	}
	if !bytes.Equal(b[at:end], s.data()) {
		return fmt.Errorf("%s does not hold block %d", s.name(), s.n)
	}
	return nil
}

// SyncTable makes changes of every kind by way w on a file system, cuts the power
// n times during those of each kind, and returns which were kept. It stops when
// ctx is done. Its other errors are those of [Record] and [Recording.Check].
func SyncTable(ctx context.Context, o Options, w SyncWay, n int) (SyncRow, error) {
	row := SyncRow{Way: w.Name}
	for k := range SyncKinds {
		if err := ctx.Err(); err != nil {
			return row, err
		}
		var err error
		if row.FS, row.Cells[k], err = syncCell(ctx, o, w, k, n); err != nil {
			return row, err
		}
	}
	return row, nil
}

func syncCell(ctx context.Context, o Options, w SyncWay, kind SyncKind, n int) (fs string, cell SyncCell, err error) {
	each := func(f func(s syncStep) error) error {
		for i := range syncSteps {
			if err := f(syncStep{kind, i}); err != nil {
				return err
			}
		}
		return nil
	}
	o.Prepare = func(dir string) error {
		return each(func(s syncStep) error { return s.prepare(dir) })
	}
	rec, err := Record(o, func(dir string, ack func(syncStep)) error {
		return each(func(s syncStep) error {
			err := s.do(w, dir)
			if err == nil {
				ack(s)
			}
			return err
		})
	})
	if err != nil {
		return "", cell, err
	}
	defer func() { err = errors.Join(err, rec.Close()) }()
	cell = SyncCell{Promised: w.promises(kind)}
	res, err := rec.Check(n, func(dir string, acked []syncStep) error {
		if ctx.Err() != nil {
			return nil // the row is not used
		}
		if len(acked) > 0 {
			cell.Cuts++
		}
		for _, s := range acked {
			if err := s.check(dir); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, ctx.Err()); err != nil {
		return res.FS, cell, err
	}
	cell.Seed, cell.Lost = res.Seed, len(res.Lost)
	if cell.Lost > 0 {
		cell.First = res.Lost[0].Err
	}
	return res.FS, cell, nil
}
