package claims

import (
	"errors"
	"os"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
)

// dupCoded is the report's code: dup3(cached, target, O_CLOEXEC). cached is a file of the
// pool, target the number that the connection wants. Numbers are wanted from the limit down,
// where an open, which takes the lowest one, comes last. A number that another file has is
// not taken: dup3 would close that file.
func dupCoded(size int) (dealer, error) {
	soft, _, err := sys.FileLimits()
	if err != nil {
		return dealer{}, err
	}
	p, err := newFilePool("data", size)
	if err != nil {
		return dealer{}, err
	}
	// With a limit of three times the pool the two never meet, and the check would only cost
	// time.
	crowded := soft < 3*uint64(size)
	wanted := make([]int, 0, soft)
	for n := range int(soft) {
		wanted = append(wanted, n)
	}
	return dealer{
		take: func() (connection, error) {
			cached, extra, err := p.take()
			if err != nil {
				return connection{}, err
			}
			last := len(wanted) - 1
			if last < 0 || crowded && numberInUse(wanted[last]) {
				return connection{}, errors.Join(syscall.EMFILE, p.give(cached, extra))
			}
			target := wanted[last]
			err = sys.WithFD(cached, func(fd int) error { return syscall.Dup3(fd, target, syscall.O_CLOEXEC) })
			if err != nil {
				return connection{}, errors.Join(os.NewSyscallError("dup3", err), p.give(cached, extra))
			}
			wanted = wanted[:last]
			return connection{f: cached, number: target, extra: extra, read: func(b []byte) error {
				_, err := syscall.Pread(target, b, 0)
				return err
			}}, nil
		},
		give: func(c connection) error {
			err := syscall.Close(c.number)
			wanted = append(wanted, c.number)
			return errors.Join(err, p.give(c.f, c.extra))
		},
		close: p.close,
	}, nil
}

// numberInUse reports whether a descriptor has the number n.
func numberInUse(n int) bool {
	_, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(n), syscall.F_GETFD, 0)
	return errno == 0
}
