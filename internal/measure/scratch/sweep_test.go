package scratch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// The test binary runs itself as the process that makes scratch directories and is killed.
const holderEnv = "STELE_PLACE_TEST_HOLD"

func TestMain(m *testing.M) {
	if what := os.Getenv(holderEnv); what != "" {
		hold(what, os.Getenv(holderEnv+"_STORE"))
	}
	os.Exit(m.Run())
}

// hold makes a scratch directory, prints its path and waits until stdin ends or it is killed.
func hold(what, store string) {
	var p *Directory
	var err error
	if what == "dir" {
		p, err = Dir(store)
	} else {
		p, err = Image(context.Background(), Options{FS: what, Size: makers[what].min, Store: store})
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	if err := os.WriteFile(filepath.Join(p.Path, "data"), []byte("data"), 0o600); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(p.Path)
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0) // without Close
}

// holder starts such a process and returns the path of its scratch directory.
func holder(t *testing.T, what, store string) (path string, kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), holderEnv+"="+what, holderEnv+"_STORE="+store)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead := false
	kill = func() {
		if !dead {
			dead = true
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	line = strings.TrimSpace(line)
	if err != nil || strings.HasPrefix(line, "error:") {
		kill()
		if strings.Contains(line, "no such device") || strings.Contains(line, "CAP_SYS_ADMIN") {
			t.Skip(line)
		}
		t.Fatalf("the process that holds a scratch directory: %q %v", line, err)
	}
	return line, kill
}

func TestSweepAfterKill(t *testing.T) {
	for _, what := range []string{"dir", "tmpfs", "ext4"} {
		t.Run(what, func(t *testing.T) {
			if what == "dir" {
				if ok, why := canLock(t); !ok {
					t.Skip(why)
				}
			} else {
				needImages(t)
				needMkfs(t, what)
			}
			for range 5 {
				if sweptAfterKill(t, what) {
					return
				}
			}
			t.Error("five times the report did not tell what was removed")
		})
	}
}

// sweptAfterKill reports whether the report tells of the scratch directory. It does not
// where a test of another package, whose programs sweep too, was faster.
func sweptAfterKill(t *testing.T, what string) bool {
	t.Helper()
	store := realDir(t)
	path, kill := holder(t, what, store)
	data := filepath.Join(path, "data")

	report, err := Sweep(store)
	if concerns(t, err, store) {
		t.Error(err)
	}
	if _, err := os.Stat(data); err != nil {
		t.Fatalf("Sweep took a scratch directory from under a living process: %v; %q", err, report)
	}
	if mentions(report, store) {
		t.Errorf("a living scratch directory is nothing to report: %q", report)
	}

	kill()
	var stores []string // mounts and loop devices are found without their store
	if what == "dir" {
		stores = []string{store}
		if _, err := os.Stat(data); err != nil { // nobody else knows of it
			t.Fatalf("nothing left to sweep: %v", err)
		}
	}
	// Another program may be at it, or a process that is being started may keep
	// the scratch directory busy.
	report = nil
	for begun := time.Now(); len(names(t, store)) > 0 && time.Since(begun) < time.Minute; time.Sleep(10 * time.Millisecond) {
		more, err := Sweep(stores...)
		if report = append(report, more...); concerns(t, err, store) {
			t.Error(err)
		}
	}
	if m, ok := mountedAtAny(store); ok {
		t.Errorf("still mounted: %+v", m)
	}
	noLoop(t, store)
	if got := names(t, store); len(got) != 0 {
		t.Errorf("left behind: %q; %q", got, report)
	}
	return mentions(report, "removed "+store)
}

func TestSweepBusyImage(t *testing.T) {
	needImages(t)
	for range 5 {
		if sweptWhileBusy(t) {
			return
		}
	}
	t.Error("five times the report did not tell of the scratch directory that is in use")
}

// sweptWhileBusy reports whether the report tells of the scratch directory. It does not
// where a program of another package's test holds its lock, to sweep it.
func sweptWhileBusy(t *testing.T) (told bool) {
	t.Helper()
	store := realDir(t)
	path, kill := holder(t, "tmpfs", store)
	f, err := os.Open(filepath.Join(path, "data")) // somebody else uses it
	if err != nil {
		t.Fatal(err)
	}
	kill()
	report, err := Sweep(store)
	if concerns(t, err, store) {
		t.Errorf("%q %v", report, err)
	}
	told = mentions(report, store) && mentions(report, "still uses it")
	if _, err := os.Stat(f.Name()); err != nil {
		t.Errorf("taken away in use: %v", err)
	}
	f.Close()
	for begun := time.Now(); len(names(t, store)) > 0 && time.Since(begun) < 2*time.Minute; time.Sleep(10 * time.Millisecond) {
		if _, err := Sweep(store); concerns(t, err, store) {
			t.Error(err)
		}
	}
	if got := names(t, store); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
	return told
}

// concerns reports whether an error is about the store: what is mounted
// anywhere is swept as well, and may be of another package's test.
func concerns(t *testing.T, err error, store string) bool {
	t.Helper()
	if err != nil && !strings.Contains(err.Error(), store) {
		t.Logf("of others: %v", err)
		return false
	}
	return err != nil
}

func canLock(t *testing.T) (bool, string) {
	f, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := sys.TryLock(f); err != nil {
		return false, "without locks an abandoned scratch directory cannot be told for sure: " + err.Error()
	}
	return true, ""
}

func mentions(report []string, what string) bool {
	return strings.Contains(strings.Join(report, "\n"), what)
}

func mountedAtAny(dir string) (sys.MountPoint, bool) {
	ms, _ := sys.Mounts()
	for _, m := range ms {
		if strings.HasPrefix(m.Path, dir+"/") {
			return m, true
		}
	}
	return sys.MountPoint{}, false
}

// deserted makes a scratch directory whose owner file names a process that is gone.
func deserted(t *testing.T, parent string) *Directory {
	t.Helper()
	p, err := Dir(parent)
	if err != nil {
		t.Fatal(err)
	}
	o := newOwner("directory", true)
	o.PID = 1 << 30
	if err := writeOwner(p.owner, o); err != nil {
		t.Fatal(err)
	}
	return p
}

// A held lock means a living owner, whatever the owner file says: a child
// that inherited the lock, or a process of another PID namespace.
func TestSweepRespectsLock(t *testing.T) {
	if ok, why := canLock(t); !ok {
		t.Skip(why)
	}
	store := realDir(t)
	p := deserted(t, store)
	if report, err := Sweep(store); concerns(t, err, store) || mentions(report, store) {
		t.Errorf("%q %v", report, err)
	}
	if _, err := os.Stat(p.Path); err != nil {
		t.Error(err)
	}
	p.owner.Close()
	if report, err := Sweep(store); concerns(t, err, store) || !mentions(report, "removed "+p.root) {
		t.Errorf("%q %v", report, err)
	}
}

// What is not a scratch directory, or not for sure, is left as it is.
func TestSweepLeaves(t *testing.T) {
	const id = "0123456789abcdef"
	dead := `{"schema":"stele.place/1","kind":"directory","locked":true,"pid":1073741824}`
	for _, c := range []struct {
		name  string
		dir   string
		owner string // "-": none
	}{
		{"another name", prefix + "0123", dead},
		{"a name with more behind", prefix + id + "-x", dead},
		{"no owner file", prefix + id, "-"},
		{"a foreign owner file", prefix + id, "hello"},
		{"an empty owner file beside data", prefix + id, ""},
		{"another machine", prefix + id, strings.Replace(dead, `"pid"`, `"host":"elsewhere.","pid"`, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := realDir(t)
			work := filepath.Join(store, c.dir, workName)
			if err := os.MkdirAll(work, 0o755); err != nil {
				t.Fatal(err)
			}
			if c.owner != "-" {
				if err := os.WriteFile(filepath.Join(store, c.dir, ownerName), []byte(c.owner), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			report, err := Sweep(store)
			if concerns(t, err, store) || mentions(report, "removed "+store) {
				t.Errorf("%q %v", report, err)
			}
			if _, err := os.Stat(work); err != nil {
				t.Errorf("removed: %v", err)
			}
		})
	}
}

// A maker may be killed between any two steps.
func TestSweepUnborn(t *testing.T) {
	if ok, why := canLock(t); !ok {
		t.Skip(why)
	}
	store := realDir(t)
	first := filepath.Join(store, prefix+"0000000000000001")
	second := filepath.Join(store, prefix+"0000000000000002")
	for _, dir := range []string{first, second} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(second, ownerName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := Sweep(store, store, filepath.Join(store, "none"))
	report = slices.DeleteFunc(report, func(line string) bool { return !strings.Contains(line, store) }) // of others
	if concerns(t, err, store) || len(report) != 2 {
		t.Errorf("%q %v", report, err)
	}
	if got := names(t, store); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

// Neither a symlink in place of a directory nor one in place of the owner file
// may lead Sweep elsewhere.
func TestSweepFollowsNothing(t *testing.T) {
	store, elsewhere := realDir(t), realDir(t)
	p := deserted(t, elsewhere) // not in the store
	p.owner.Close()
	if err := os.Symlink(p.root, filepath.Join(store, prefix+"0000000000000001")); err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(store, prefix+"0000000000000002")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(elsewhere, "owner")
	dead := `{"schema":"stele.place/1","kind":"directory","locked":true,"pid":1073741824}`
	if err := os.WriteFile(foreign, []byte(dead), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(foreign, filepath.Join(dir, ownerName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Sweep(store); concerns(t, err, store) {
		t.Error(err)
	}
	for _, path := range []string{p.Path, foreign, dir} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}
