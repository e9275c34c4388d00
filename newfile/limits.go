package newfile

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// Descriptors are the limits on open files and the numbers in use. A figure that
// cannot be read is 0.
type Descriptors struct {
	// Soft is the limit of this process (RLIMIT_NOFILE), which Raise raises up to
	// Hard. Go raises Soft to Hard when a program starts; children of it start
	// with the limit that was set outside.
	Soft, Hard uint64
	// Used is the number of descriptors of this process.
	Used uint64
	// System is the limit on the open files of all processes together
	// (fs.file-max), which root may exceed. SystemUsed is their number.
	System, SystemUsed uint64
}

// Limits reads the limits on open files. It fails with errors.ErrUnsupported off
// Linux. If /proc is not mounted it returns Soft and Hard only.
func Limits() (Descriptors, error) {
	var d Descriptors
	var err error
	if d.Soft, d.Hard, err = sys.FileLimits(); err != nil {
		return d, fmt.Errorf("newfile: limits: %w", err)
	}
	if n, err := sys.OpenFiles(); err == nil {
		d.Used = n
	}
	if used, most, err := sys.SystemFiles(); err == nil {
		d.SystemUsed, d.System = used, most
	}
	return d, nil
}

// Raise raises the soft limit of this process, and of its later children, to n
// and returns the new limit. A limit of n or more stays. An n above the hard
// limit changes nothing and fails with a *LimitError, which says how to raise it.
func Raise(n uint64) (soft uint64, err error) {
	soft, hard, err := sys.FileLimits()
	switch {
	case err != nil:
		return 0, fmt.Errorf("newfile: raise: %w", err)
	case n <= soft:
		return soft, nil
	case n > hard:
		return soft, fmt.Errorf("newfile: raise to %d: %w", n, &LimitError{Err: syscall.EMFILE, Soft: soft, Hard: hard})
	}
	if err := sys.SetFileLimit(n); err != nil {
		return soft, fmt.Errorf("newfile: raise to %d: %w", n, err)
	}
	return n, nil
}

// A LimitError reports which limit on open files was reached, and how to raise
// it. errors.Is finds syscall.EMFILE (the limit of this process) or
// syscall.ENFILE (that of the system).
type LimitError struct {
	Err        syscall.Errno
	Soft, Hard uint64 // the limits of this process; 0 if not known
}

func (e *LimitError) Unwrap() error { return e.Err }

func (e *LimitError) Error() string {
	const raiseHard = "ulimit -Hn, systemd's LimitNOFILE= or Docker's --ulimit nofile= raise"
	switch {
	case e.Err == syscall.ENFILE:
		return fmt.Sprintf("%v: all processes together are at the limit fs.file-max; sysctl -w fs.file-max=N raises it", e.Err)
	case e.Soft == 0:
		return fmt.Sprintf("%v: this process is at its limit; close files, or raise it", e.Err)
	case e.Soft < e.Hard:
		return fmt.Sprintf("%v: the soft limit RLIMIT_NOFILE of this process is %d; newfile.Raise raises it up to the hard limit, %d, which %s",
			e.Err, e.Soft, e.Hard, raiseHard)
	}
	return fmt.Sprintf("%v: the limit RLIMIT_NOFILE of this process is %d, soft and hard, which %s", e.Err, e.Soft, raiseHard)
}

// limited returns a *LimitError for an err that means that descriptors have run
// out, and any other err unchanged.
func limited(err error) error {
	var no syscall.Errno
	if !errors.As(err, &no) || no != syscall.EMFILE && no != syscall.ENFILE {
		return err
	}
	soft, hard, limitErr := sys.FileLimits()
	if limitErr != nil {
		soft, hard = 0, 0
	}
	return &LimitError{Err: no, Soft: soft, Hard: hard}
}

// isLimit reports whether err means that descriptors have run out.
func isLimit(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
