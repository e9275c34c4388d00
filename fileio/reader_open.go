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
	errWhence   = errors.New("invalid whence")
	errNoReader = fmt.Errorf("fileio: a Reader that neither Open nor NewReader made: %w", fs.ErrInvalid)
)

// Open opens a regular file for reading; anything else, a FIFO for example, is
// refused without being waited for. A way that the kernel or the file system
// does not have is an error that is errors.ErrUnsupported, but Auto takes
// another one then; Reader.Way tells which.
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

// NewReader returns a Reader of f, which must be a regular file that is open
// for reading. Read begins at f's offset, and does not move it. f stays the
// caller's, to be closed after the Reader, whose Close leaves it open. Until
// then the kernel is told of f what it is told of a file of the Reader's own,
// as by Advise; Close sets it back to normal advice, whatever was set before.
//
// For the way Direct the file is opened once more, through /proc.
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

// prepare prepares what the first operation needs, and tells when that began.
func (r *Reader) prepare(o Options) (start time.Time) {
	r.way, r.trace = o.Way, o.Trace
	r.reads.OneOf = readSample
	return r.startTime()
}

// open gets the file, by a function that can also open it for direct reads,
// and makes it ready.
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
		// It cannot be had after all: the way that can be had everywhere.
		r.way = Buffered
		if err = r.openFile(file, false); err == nil {
			err = r.setup(o)
		}
	}
	return err
}

// openFile gets the file and looks at what it is.
func (r *Reader) openFile(file func(direct bool) (*os.File, error), direct bool) (err error) {
	if r.f, err = file(direct); err != nil {
		if direct && sys.Absent(err) {
			// open(2): EINVAL where the file system has no O_DIRECT.
			err = fmt.Errorf("direct I/O: %w: %w", cause(err), errors.ErrUnsupported)
		}
		if errors.Is(err, syscall.ENXIO) {
			err = fmt.Errorf("a socket, or a device that is not there; want a regular file: %w", cause(err))
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

// checkRegular refuses what is no regular file, by its name.
func checkRegular(m fs.FileMode) error {
	if m.IsDir() {
		return syscall.EISDIR
	}
	return sys.NotRegular(m)
}

// release closes the file, if it is the Reader's.
func (r *Reader) release() error {
	if r.owns {
		return r.f.Close()
	}
	return nil
}

func (r *Reader) openError(err error) error {
	return &fs.PathError{Op: "open", Path: r.name, Err: cause(err)}
}

// setup gets the Reader's way ready. It releases the file where that fails.
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
	if o.Profile != nil && o.Way == Auto && o.Profile.Read.BufferSize > 0 { // measured with the way it names
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
		// At the end of the file nothing is read, and the flag looked at all
		// the same (kiocb_set_rw_flags in include/linux/fs.h).
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

// setReadahead tells the kernel what is known, and watches the rest.
func (r *Reader) setReadahead(o Options) {
	switch {
	case o.Readahead == ReadaheadOff || o.Pattern == Random:
		r.adviseRandom(true)
	case o.Pattern == Sequential:
		// Doubles the kernel's window. A refusal changes no result.
		_ = errors.Join(r.fadvise(0, 0, sys.AdviseSequential), r.madvise(r.mem, sys.MemSequential))
	}
	watched := r.way == Buffered || r.way == Mapped
	// What is shorter than the kernel's own readahead is there at once.
	if watched && r.size > piece && o.Readahead != ReadaheadOff && o.Readahead != ReadaheadKernel && canAdvise {
		r.ra = newReadahead(r, r.size, o)
	}
}

// cause is what lies in an error that names operation and file already.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
