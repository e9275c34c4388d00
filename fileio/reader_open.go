package fileio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

var (
	errTooLarge   = fmt.Errorf("larger than the address space: %w", errors.ErrUnsupported)
	errNotRegular = errors.New("not a regular file")
	errWhence     = errors.New("invalid whence")
)

// Open opens a regular file for reading; anything else, a FIFO for example, is
// refused without being waited for. A way that the kernel or the file system
// does not have is an error that is errors.ErrUnsupported, but Auto takes
// another one then; Reader.Way tells which.
func Open(name string, o Options) (*Reader, error) {
	if err := o.check(name); err != nil {
		return nil, err
	}
	r := &Reader{name: name, way: o.Way, trace: o.Trace, gate: gate{empty: make(chan struct{}, 1)}}
	start := r.start()
	err := r.open(o)
	r.tell(OpOpen, -1, 0, start, err)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Reader) open(o Options) error {
	if err := r.openFile(r.way == Direct); err != nil {
		return err
	}
	if r.way != Auto {
		return r.begin(o)
	}
	memory, known := int64(0), false
	if wantsMemory(r.size, o.Pattern) {
		memory, known = freeMemory("/")
	}
	if r.way = choose(r.size, o, memory, known); r.way == Direct {
		r.f.Close()
		if r.openFile(true) != nil {
			r.way = Buffered
			if err := r.openFile(false); err != nil {
				return err
			}
		}
	}
	err := r.begin(o)
	if err != nil && r.way != Buffered {
		// It cannot be had after all: the way that can be had everywhere.
		r.way = Buffered
		if err = r.openFile(false); err == nil {
			err = r.begin(o)
		}
	}
	return err
}

// openFile opens the file and looks at what it is.
func (r *Reader) openFile(direct bool) (err error) {
	if direct {
		r.f, err = openDirect(r.name)
	} else {
		r.f, err = sys.OpenRead(r.name, false)
	}
	if err != nil {
		return err
	}
	fi, err := r.f.Stat()
	switch {
	case err != nil:
	case fi.IsDir():
		err = &fs.PathError{Op: "open", Path: r.name, Err: syscall.EISDIR}
	case !fi.Mode().IsRegular():
		err = &fs.PathError{Op: "open", Path: r.name, Err: fmt.Errorf("%w: %v", errNotRegular, fi.Mode().Type())}
	default:
		r.size, r.changed = fi.Size(), fi.ModTime()
		return nil
	}
	r.f.Close()
	return err
}

// begin gets the Reader's way ready. It closes the file where that fails.
func (r *Reader) begin(o Options) (err error) {
	defer func() {
		if err != nil {
			r.f.Close()
			err = &fs.PathError{Op: "open", Path: r.name, Err: cause(err)}
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
		r.tellRandom(true)
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
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
