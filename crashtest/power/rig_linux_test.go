package power

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/internal/sys"
)

// The rig relies on this: when a request to the block device is answered, its record is
// in the log, and a sync of the device is a flush there.
func TestDiskLogsEachRequest(t *testing.T) {
	fs, err := fileSystemOf(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unavailable(fs); err != nil {
		t.Skip(err)
	}
	rig, base, err := newRig(fs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rig.close(); err != nil {
			t.Error(err)
		}
	})
	attached, err := rig.attachDisk()
	if err != nil {
		t.Fatal(err)
	}
	defer attached.Close()
	direct, err := os.OpenFile(attached.Name(), os.O_RDWR|syscall.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	seen := 0
	fresh := func() []record { // since the last call
		length, err := rig.position()
		if err != nil {
			t.Fatal(err)
		}
		records, err := rig.records(length)
		if err != nil {
			t.Fatal(err)
		}
		records, seen = records[seen:], len(records)
		return records
	}
	expect := func(after string, want ...record) {
		t.Helper()
		got := fresh()
		if len(got) != len(want) {
			t.Fatalf("after %s the log has %d new records, want %d", after, len(got), len(want))
		}
		for i, w := range want {
			if g := got[i]; g.kind != w.kind || g.off != w.off || g.len != w.len || !bytes.Equal(g.data, w.data) {
				t.Errorf("after %s, record %d is kind %d at %d+%d, want kind %d at %d+%d with its data", after, i, g.kind, g.off, g.len, w.kind, w.off, w.len)
			}
		}
	}
	fresh()

	block := alignedBlock()
	for i := range 20 {
		block[0] = byte(i)
		off := int64(100+i) * pageSize
		if _, err := direct.WriteAt(block, off); err != nil {
			t.Fatal(err)
		}
		expect("a direct write", record{kind: kindWrite, off: off, len: pageSize, data: block})
	}
	if err := direct.Sync(); err != nil {
		t.Fatal(err)
	}
	expect("fsync", record{kind: kindFlush})

	if _, err := attached.WriteAt(block, 300*pageSize); err != nil {
		t.Fatal(err)
	}
	expect("a buffered write")
	if err := attached.Sync(); err != nil {
		t.Fatal(err)
	}
	expect("its fsync", record{kind: kindWrite, off: 300 * pageSize, len: pageSize, data: block}, record{kind: kindFlush})

	// A write that is durable by itself (O_DSYNC, which asks for FUA).
	dsync, err := os.OpenFile(attached.Name(), os.O_RDWR|syscall.O_DIRECT|syscall.O_DSYNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer dsync.Close()
	if _, err := dsync.WriteAt(block, 301*pageSize); err != nil {
		t.Fatal(err)
	}
	// One flush is FUA's, the other that of the fsync that O_DSYNC ends with.
	expect("an O_DSYNC write", record{kind: kindWrite, off: 301 * pageSize, len: pageSize, data: block}, record{kind: kindFlush}, record{kind: kindFlush})

	const keepSize, punchHole = 1, 2
	if err := syscall.Fallocate(int(attached.Fd()), keepSize|punchHole, 100*pageSize, 3*pageSize); err != nil {
		t.Fatal(err)
	}
	expect("a discard", record{kind: kindZero, off: 100 * pageSize, len: 3 * pageSize})

	// What is on the device now is the base with the log applied to it.
	length, err := rig.position()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rig.records(length + 1); err == nil {
		t.Error("more than the log is read from it")
	}
	records, err := rig.records(length)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		base.write(r.off, r.len, r.data)
	}
	now, err := readImage(rig.image)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytesOf(now), bytesOf(base)) {
		t.Error("the device is not the base with the log applied")
	}
}

// alignedBlock returns a page that O_DIRECT takes.
func alignedBlock() []byte {
	block := sys.AlignedBuffer(pageSize, pageSize)
	copy(block, bytes.Repeat([]byte{'x'}, pageSize))
	return block
}

func TestOptionsRefused(t *testing.T) {
	for _, o := range []Options{{FS: "fat"}, {Size: 4095}, {Size: -4096}} {
		if _, err := fileSystemOf(o); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// OnSync gets the syncs of the work, by name and path, of all its goroutines and of no
// other file, and can replace each.
func TestOnSync(t *testing.T) {
	elsewhere, err := os.Create(t.TempDir() + "/elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	var seen []string
	rec, err := Record(Options{
		Prepare: func(dir string) error { return os.Mkdir(dir+"/sub", 0o755) },
		OnSync: func(s crashtest.Sync) crashtest.SyncFault {
			seen = append(seen, s.String())
			return crashtest.SyncFault(s.N % 3)
		},
	}, func(dir string, ack func(int)) error {
		f, err := os.Create(dir + "/sub/file")
		if err != nil {
			return err
		}
		done := make(chan error)
		go func() { done <- syscall.Fdatasync(int(f.Fd())) }()
		d, err := os.Open(dir)
		return errors.Join(<-done, err, elsewhere.Sync(), d.Sync(), f.Sync(), d.Close(), f.Close())
	})
	if errors.Is(err, crashtest.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Error(err)
	}
	want := []string{"fdatasync(sub/file), number 0", "fsync(.), number 1", "fsync(sub/file), number 2"}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("OnSync saw %q, want %q", seen, want)
	}
}

// An error, a panic or the end of the goroutine in the work leaves nothing behind.
func TestRecordFails(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	broken := errors.New("broken")
	_, err := Record(Options{}, func(string, func(int)) error { return broken })
	if errors.Is(err, crashtest.ErrUnavailable) {
		t.Skip(err)
	}
	if !errors.Is(err, broken) {
		t.Errorf("the work failed, and Record returns %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Record(Options{}, func(string, func(int)) error {
			runtime.Goexit()
			return nil
		})
	}()
	<-done
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// hangEnv makes TestHang the victim of TestKilled.
const hangEnv = "STELE_CRASHTEST_HANG"

func TestHang(t *testing.T) {
	if os.Getenv(hangEnv) == "" {
		t.Skip("only a part of TestKilled")
	}
	_, err := Record(Options{}, func(dir string, ack func(int)) error {
		for { // so that threads of the victim wait for the disk when it dies
			if err := os.WriteFile(dir+"/file", []byte("x"), 0o600); err != nil {
				return err
			}
			if err := syncOf(dir); err != nil {
				return err
			}
			fmt.Println("synced")
		}
	})
	t.Fatal(err)
}

// A test that is killed leaves no mount behind, and no process that waits for
// a disk that is gone.
func TestKilled(t *testing.T) {
	fs, _ := fileSystemOf(Options{})
	if err := unavailable(fs); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	victim := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestHang$", "-test.v")
	tmp := t.TempDir()
	victim.Env = append(os.Environ(), hangEnv+"=1", "TMPDIR="+tmp)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	buf := make([]byte, 4096)
	for strings.Count(said.String(), "synced") < 20 {
		n, err := out.Read(buf)
		if said.Write(buf[:n]); err != nil {
			t.Fatalf("%v: %s", err, said.Bytes())
		}
	}
	mounts := func() int {
		b, err := os.ReadFile("/proc/self/mounts")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), " "+tmp+"/")
	}
	if n := mounts(); n != 2 {
		t.Errorf("%d mounts while it works, want the disk and its file system", n)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	victim.Wait() // "signal: killed"
	for begin := time.Now(); mounts() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 2*time.Minute {
			t.Fatalf("%d mounts are left behind", mounts())
		}
	}
}

func syncOf(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
