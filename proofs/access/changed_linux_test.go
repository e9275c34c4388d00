package access

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// changes has pairs of permissions of an old file, between which it changes while a new
// file replaces it, each as an ACL. The kernel turns an ACL into a mode if it can.
var changes = [][2]string{
	{"u:6 u1003:6 g:0 m:6 o:6", "u:6 g:0 o:6"}, // the group bits are a mask, and then the group's
	{"u:6 u1003:4 g:0 m:4 o:4", "u:6 g:0 o:4"},
	{"u:6 u1003:6 g:0 m:6 o:0", "u:6 g:4 o:0"},
	{"u:6 g:4 g2004:0 m:4 o:4", "u:6 g:0 o:0"},
	{"u:6 u1006:4 g:4 m:0 o:4", "u:6 g:4 o:4"},
	{"u:6 g:4 o:4", "u:6 g:0 o:0"},
}

// At whatever call the old file changes, nobody may do to the new one what the old one
// always denied.
func TestChangedAtEachCall(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to take other identities")
	}
	runtime.LockOSThread() // and never unlocked: the tracer is a thread
	top := open(t, t.TempDir())
	j := newJudge(t)
	w := newWorker(t)
	cells := matrix()
	refused := 0
	for _, name := range []string{"WriteFile", "Create keep 00000", "Create keep 00001", "Create keep 01000", "Batch keep 01111"} {
		i := slices.IndexFunc(cells, func(c cell) bool { return c.way.name == name && c.writer.uid == 0 && c.uid == owner })
		for _, change := range changes {
			for turn := range 2 {
				from, to := change[turn], change[1-turn]
				for at := 0; ; at++ {
					n, err := changedAt(w, j, i, filepath.Join(top, "cell"), from, to, at)
					if err == errRefused {
						refused++
						err = nil
					}
					if err != nil {
						t.Errorf("%s, {%s} becomes {%s} at stop %d: %v", name, from, to, at, err)
					}
					if n <= at || t.Failed() {
						break
					}
				}
			}
		}
	}
	t.Logf("refused %d times", refused)
}

var errRefused = fmt.Errorf("refused")

// changedAt runs cell i, changes the ACL at a stop, and returns the number of stops.
func changedAt(w *worker, j *judge, i int, dir, from, to string, at int) (stops int, err error) {
	path := filepath.Join(dir, "file")
	set := func(text string) error { return unix.Setxattr(path, accessACL, encodeACL(text), 0) }
	if err := makeOld(dir, path); err != nil {
		return 0, err
	}
	in, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	var might []rights
	for _, text := range []string{to, from} {
		if err := set(text); err != nil {
			return 0, err
		}
		now, err := j.rights(int(in.Fd()), "file")
		if err != nil {
			return 0, err
		}
		if might == nil {
			might = now
		}
		for p := range now {
			might[p] |= now[p]
		}
	}
	said, err := w.run(i, path, func() (err error) {
		if stops == at {
			if b, e := os.ReadFile(path); e == nil && string(b) == "old" {
				err = set(to)
			}
		}
		stops++
		return err
	})
	if err != nil {
		return stops, err
	}
	if said != "<nil>" {
		return stops, errRefused
	}
	after, err := j.rights(int(in.Fd()), "file")
	if err != nil {
		return stops, err
	}
	for p := range people {
		if people[p].uid == owner {
			might[p] = 7
		}
	}
	if more := beyond(after, might); more != "" {
		return stops, fmt.Errorf("granted to %s", more)
	}
	return stops, nil
}

// makeOld makes the directory anew, with the old file.
func makeOld(dir, path string) error {
	for _, do := range []func() error{
		func() error { return os.RemoveAll(dir) },
		func() error { return os.Mkdir(dir, 0o777) },
		func() error { return os.Chmod(dir, 0o777) },
		func() error { return os.WriteFile(path, []byte("old"), 0o600) },
		func() error { return os.Chown(path, owner, team) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}
