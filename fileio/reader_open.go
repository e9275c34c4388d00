package fileio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/stele-go/stele/internal/memory"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

var (
	errTooLarge = fmt.Errorf("larger than the address space: %w", errors.ErrUnsupported)
	errWhence   = errors.New("invalid whence; want io.SeekStart, io.SeekCurrent or io.SeekEnd")
	errNoReader = fmt.Errorf("fileio: a Reader that neither Open nor NewReader returned: %w", fs.ErrInvalid)
)

// Open opens a regular file for reading; for anything else, such as a FIFO, it returns
// an error without waiting. If the kernel or the file system does not support
// Options.Way, the error is errors.ErrUnsupported; Auto then takes another way, which
// Reader.Way returns.
func Open(name string, o Options) (*Reader, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	open := func(direct bool) (*os.File, error) { return sys.OpenRead(name, direct) }
	if o.Root != nil {
		open = func(direct bool) (*os.File, error) { return sys.OpenReadBeneath(o.Root, name, direct, o.OneMount) }
	}
	r := &Reader{name: name, owns: true}
	start := r.prepare(o)
	err := r.open(o, open)
	r.traceOp(OpOpen, -1, 0, start, err)
	if err != nil {
		return nil, err
	}
	r.gate.Open()
	return r, nil
}

// NewReader returns a Reader of f, which must be a regular file that is open for
// reading. Read begins at f's offset, and does not move it. The caller closes f, after
// the Reader. Until then f has the advice that the Reader gives, as by Advise; Close
// resets that to normal, whatever it was before.
//
// For the way Direct the file is opened again, through /proc.
func NewReader(f *os.File, o Options) (*Reader, error) {
	switch {
	case f == nil:
		return nil, setting.Wrong("fileio: NewReader: f", nil, "a file that is open for reading")
	case o.Root != nil:
		return nil, setting.Wrong("fileio: Options.Root", o.Root.Name(), "nil for NewReader, which opens no name")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &Reader{name: f.Name()}
	start := r.prepare(o)
	err := r.adopt(f, o)
	r.traceOp(OpOpen, -1, 0, start, err)
	if err != nil {
		return nil, &fs.PathError{Op: "reader", Path: r.name, Err: cause(err)}
	}
	r.gate.Open()
	return r, nil
}

func (r *Reader) adopt(f *os.File, o Options) error {
	mode, err := sys.OpenedFor(f)
	if err != nil {
		return err
	}
	if !mode.Read {
		return fmt.Errorf("opened for writing only: %w", syscall.EBADF)
	}
	open := func(direct bool) (*os.File, error) {
		r.owns = direct
		if direct {
			return sys.ReopenRead(f)
		}
		return f, nil
	}
	if err := r.open(o, open); err != nil {
		return err
	}
	if r.pos, err = f.Seek(0, io.SeekCurrent); err != nil {
		return errors.Join(err, r.release())
	}
	return nil
}

// prepare sets the fields that the first operation needs, and returns its start.
func (r *Reader) prepare(o Options) (start time.Time) {
	r.way, r.trace = o.Way, o.Trace
	r.reads.OneOf = readSample
	return r.startTime()
}

// open opens the file by a function that can also open it for direct reads, and sets
// the Reader up.
func (r *Reader) open(o Options, file func(direct bool) (*os.File, error)) error {
	if err := r.openFile(file, r.way == Direct); err != nil {
		return err
	}
	if r.way != Auto {
		return r.setup(o)
	}
	available, known := int64(0), false
	if wantsMemory(r.size, o.Pattern) {
		available, known = memory.Available()
	}
	if r.way = choose(r.size, o, available, known); r.way == Direct {
		r.release()
		if r.openFile(file, true) != nil {
			r.way = Buffered
			if err := r.openFile(file, false); err != nil {
				return err
			}
		}
	}
	err := r.setup(o)
	if err != nil && r.way != Buffered {
		// The chosen way is unavailable after all: use the one that never is.
		r.way = Buffered
		if err = r.openFile(file, false); err == nil {
			err = r.setup(o)
		}
	}
	return err
}

// openFile opens the file and checks that it is a regular one.
func (r *Reader) openFile(file func(direct bool) (*os.File, error), direct bool) (err error) {
	if r.f, err = file(direct); err != nil {
		if direct && sys.Absent(err) {
			// open(2): EINVAL where the file system has no O_DIRECT.
			err = fmt.Errorf("direct I/O: %w: %w", cause(err), errors.ErrUnsupported)
		}
		if errors.Is(err, syscall.ENXIO) {
			err = fmt.Errorf("a socket, or a device that does not exist; want a regular file: %w", cause(err))
		}
		return r.openError(err)
	}
	fi, err := r.f.Stat()
	if err == nil {
		err = checkRegular(fi.Mode())
	}
	if err != nil {
		r.release()
		return r.openError(err)
	}
	r.size, r.changed = fi.Size(), fi.ModTime()
	return nil
}

// checkRegular returns an error that names the kind of file unless it is regular.
func checkRegular(m fs.FileMode) error {
	if m.IsDir() {
		return syscall.EISDIR
	}
	return sys.NotRegular(m)
}

// release closes the file, if the Reader owns it.
func (r *Reader) release() error {
	if r.owns {
		return r.f.Close()
	}
	return nil
}

func (r *Reader) openError(err error) error {
	return &fs.PathError{Op: "open", Path: r.name, Err: cause(err)}
}

// setup prepares the Reader's way. On an error it releases the file.
func (r *Reader) setup(o Options) (err error) {
	defer func() {
		if err != nil {
			r.release()
			err = r.openError(err)
		}
	}()
	r.bufSize = defaultBuffer
	if r.way == Direct {
		r.bufSize = directBuffer
	}
	if o.Profile != nil && o.Way == Auto && o.Profile.Read.BufferSize > 0 { // measured with the profile's way
		r.bufSize = min(o.Profile.Read.BufferSize, maxBuffer)
	}
	if o.BufferSize > 0 {
		r.bufSize = o.BufferSize
	}
	switch r.way {
	case Mapped:
		if err := r.mapFile(o); err != nil {
			return err
		}
		r.prefault = o.Prefault
	case Direct:
		if r.align, err = directAlignment(r.f); err != nil {
			return err
		}
		_, hi := r.align.around(0, r.bufSize)
		r.bufSize = int(hi)
		return nil
	case Uncached:
		// At the end of the file nothing is read, but the flag is checked
		// (kiocb_set_rw_flags in include/linux/fs.h).
		buf := getBuffer(1)
		_, err := sys.PreadFlags(r.f, buf.b, r.size, sys.ReadDontCache)
		buf.put()
		if err != nil && sys.Absent(err) {
			return fmt.Errorf("uncached reads: %w: %w", err, errors.ErrUnsupported)
		}
		r.flags = sys.ReadDontCache
	}
	r.setReadahead(o)
	return nil
}

// setReadahead gives the kernel the known pattern as advice, and starts the Reader's own
// readahead.
func (r *Reader) setReadahead(o Options) {
	switch {
	case o.Readahead == ReadaheadOff || o.Pattern == Random:
		r.adviseRandom(true)
	case o.Pattern == Sequential:
		// Doubles the kernel's window. A refusal changes no result.
		_ = errors.Join(r.fadvise(0, 0, sys.AdviseSequential), r.madvise(r.mem, sys.MemSequential))
	}
	watched := r.way == Buffered || r.way == Mapped
	// The kernel's own readahead covers a shorter file at once.
	if watched && r.size > piece && o.Readahead != ReadaheadOff && o.Readahead != ReadaheadKernel && canAdvise {
		r.ra = newReadahead(r, r.size, o)
	}
}

// cause removes operation and path from an error, so that they are added only once.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
