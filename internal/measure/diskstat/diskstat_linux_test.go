package diskstat

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/loopfs"
	"github.com/stele-go/stele/internal/sys"
)

// tree writes files, by name, under a fresh directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	diskLine = "  100 1 200 3 400 5 600 7 0 9 10 11 12 13 14  77 16\n"
	partLine = "  10 1 20 3 40 5 60 7 0 9 10 11 12 13 14  0 0\n"
	oldLine  = "  100 1 200 3 400 5 600 7 0 9 10\n"
)

func TestDiskStat(t *testing.T) {
	whole := Stat{Reads: 100, ReadBytes: 200 * 512, Writes: 400, WriteBytes: 600 * 512, Flushes: 77}
	part := Stat{Reads: 10, ReadBytes: 20 * 512, Writes: 40, WriteBytes: 60 * 512, Flushes: 77}
	for _, c := range []struct {
		name, dir string
		files     map[string]string
		want      Stat
		noFlushes string // part of the reason
		err       string // part of the error
	}{
		{name: "disk", dir: "sda", want: whole,
			files: map[string]string{"sda/stat": diskLine, "sda/queue/iostats": "1\n", "sda/mq/0/x": ""}},
		{name: "partition: flushes of the whole disk", dir: "sda/sda1", want: part,
			files: map[string]string{"sda/stat": diskLine, "sda/mq/0/x": "", "sda/sda1/stat": partLine, "sda/sda1/partition": "1\n"}},
		{name: "stacked device", dir: "dm-0", want: Stat{}, noFlushes: "no request queue",
			files: map[string]string{"dm-0/stat": partLine}},
		{name: "old kernel", dir: "sda", noFlushes: "Linux 5.5",
			files: map[string]string{"sda/stat": oldLine, "sda/mq/0/x": ""}},
		{name: "switched off", dir: "sda", err: "keeps no statistics",
			files: map[string]string{"sda/stat": diskLine, "sda/queue/iostats": "0\n", "sda/mq/0/x": ""}},
		{name: "damaged", dir: "sda", err: "invalid syntax",
			files: map[string]string{"sda/stat": "1 2 x", "sda/mq/0/x": ""}},
		{name: "short", dir: "sda", err: "3 fields",
			files: map[string]string{"sda/stat": "1 2 3", "sda/mq/0/x": ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got Stat
			d, err := diskIn(filepath.Join(tree(t, c.files), c.dir))
			if err == nil {
				got, err = d.Stat()
			}
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one about %q", err, c.err)
				}
			case err != nil:
				t.Error(err)
			case c.noFlushes != "":
				if !strings.Contains(got.NoFlushes, c.noFlushes) {
					t.Errorf("flushes are missing because %q, want %q", got.NoFlushes, c.noFlushes)
				}
			case got != c.want:
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestDiskUnderWithoutDevice(t *testing.T) {
	for _, dir := range []string{"/dev/shm", "/proc"} {
		st, err := sys.StatPath(dir)
		if err != nil || !strings.HasPrefix(st.Dev, "0:") {
			t.Skipf("%s is not without a device here: %v %v", dir, st.Dev, err)
		}
		_, err = Under(dir)
		if err == nil || !strings.Contains(err.Error(), "has no block device of its own") {
			t.Errorf("%s: error %v", dir, err)
		}
	}
}

// On real file systems: ext4, which names its device, and btrfs, which hides
// it behind an anonymous one.
func TestDiskUnderLoop(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	for _, c := range []struct {
		fs   string
		size int64
		args []string
	}{{"ext4", 32 << 20, []string{"-q", "-F"}}, {"btrfs", 128 << 20, []string{"-q"}}} {
		t.Run(c.fs, func(t *testing.T) {
			mkfs, err := exec.LookPath("mkfs." + c.fs)
			if err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			image, err := os.Create(filepath.Join(dir, "image"))
			if err != nil {
				t.Fatal(err)
			}
			defer image.Close()
			if err := image.Truncate(c.size); err != nil {
				t.Fatal(err)
			}
			if out, err := loopfs.Mkfs(t.Context(), func() ([]byte, error) {
				return exec.Command(mkfs, append(c.args, image.Name())...).CombinedOutput()
			}); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			loop, err := loopfs.Attach(image)
			if err != nil {
				t.Skipf("no loop device: %v", err)
			}
			name := loop.Name()
			mnt := filepath.Join(dir, "mnt")
			if err := os.Mkdir(mnt, 0o777); err != nil {
				t.Fatal(err)
			}
			err = loopfs.Mount(name, mnt, c.fs, "")
			loop.Close()
			if err != nil {
				t.Skipf("cannot mount: %v", err)
			}
			defer func() {
				if err := loopfs.UnmountIdle(mnt, time.Minute); err != nil {
					t.Error(err)
				}
			}()
			d, err := Under(mnt)
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Base(name); d.Name != want {
				t.Errorf("found %s, want %s", d.Name, want)
			}
			writeSynced(t, d, filepath.Join(mnt, "f"))
		})
	}
}

// writeSynced writes and syncs 1 MiB, and looks for it and its flush on d.
func writeSynced(t *testing.T, d *Disk, name string) {
	t.Helper()
	before, err := d.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 1 << 20
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	after, err := d.Stat()
	if err != nil {
		t.Fatal(err)
	}
	// The upper bound is about units: a slow machine writes metadata more than once.
	if got := after.WriteBytes - before.WriteBytes; got < size || got > 64*size {
		t.Errorf("%d bytes written to %s, want 1 MiB and some metadata", got, d.Name)
	}
	if after.Writes == before.Writes {
		t.Errorf("no write completed by %s", d.Name)
	}
	if after.NoFlushes != "" {
		t.Errorf("no flushes: %s", after.NoFlushes)
	} else if after.Flushes == before.Flushes {
		t.Errorf("no flush completed by %s", d.Name)
	}
}
