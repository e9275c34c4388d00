package env

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab/run"
)

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	c, err := Probe(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Schema != ProbeSchema || c.Environment.OS != runtime.GOOS {
		t.Errorf("%q %q", c.Schema, c.Environment.OS)
	}
	seen := map[string]bool{}
	for _, one := range c.Capabilities {
		if seen[one.Name] || one.Name == "" || one.Doc == "" {
			t.Errorf("%+v", one)
		}
		seen[one.Name] = true
		switch one.Supported {
		case Yes:
		case No, NotTried:
			if one.Detail == "" {
				t.Errorf("%s is %q for no reason", one.Name, one.Supported)
			}
		default:
			t.Errorf("%s is %q", one.Name, one.Supported)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
	if one, _ := c.Get("name-max"); one.Supported != Yes || !strings.HasSuffix(one.Detail, " bytes") {
		t.Errorf("%+v", one)
	}
	if runtime.GOOS != "linux" {
		if one, _ := c.Get("O_TMPFILE"); one.Supported != NotTried || one.Detail != "Linux only" {
			t.Errorf("%+v", one)
		}
		return
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back Capabilities
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(&back, c) {
		t.Errorf("JSON: %v\n%+v\n%+v", err, back, c)
	}
}

// What two file systems are known to do on every kernel of the last years.
func TestProbeKnownSystems(t *testing.T) {
	known := map[string]map[string]string{
		"ext4": {
			"O_TMPFILE": Yes, "linkat": Yes, "FALLOC_FL_INSERT_RANGE": Yes, "FALLOC_FL_COLLAPSE_RANGE": Yes, "FICLONE": No,
			"FALLOC_FL_PUNCH_HOLE": Yes, "RENAME_EXCHANGE": Yes, "RENAME_NOREPLACE": Yes, "case-sensitive": Yes, "fsync": Yes,
		},
		"tmpfs": {
			"O_TMPFILE": Yes, "FALLOC_FL_INSERT_RANGE": No, "FALLOC_FL_PUNCH_HOLE": Yes, "FICLONE": No, "FICLONERANGE": No,
			"RWF_ATOMIC": No, "RENAME_EXCHANGE": Yes,
		},
	}
	if runtime.GOOS != "linux" {
		t.Skip("Linux only")
	}
	for _, dir := range []string{t.TempDir(), "/dev/shm"} {
		c, err := Probe(dir)
		if err != nil {
			t.Log(err)
			continue
		}
		want := known[c.Environment.FS]
		if want == nil {
			t.Logf("%s: nothing is held known of %s", dir, c.Environment.FS)
		}
		for name, answer := range want {
			if one, ok := c.Get(name); !ok || one.Supported != answer {
				t.Errorf("%s: %s is %q (%s), want %q", c.Environment.FS, name, one.Supported, one.Detail, answer)
			}
		}
		if one, _ := c.Get("O_DIRECT"); one.Supported == Yes && !strings.Contains(one.Detail, " B") {
			t.Errorf("%s: no alignment in %q", dir, one.Detail)
		}
	}
}

func TestProbeRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Probe(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Probe(file); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("a file: %v", err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	// Not even root can make directories there.
	if _, err := Probe("/sys"); err == nil || !strings.Contains(err.Error(), "make a directory in /sys") {
		t.Errorf("no directories can be made: %v", err)
	}
}

func TestAnswer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("which errors mean what is Linux's")
	}
	for _, c := range []struct {
		err  error
		want string
		text string
	}{
		{nil, Yes, "detail"},
		{os.NewSyscallError("fallocate", syscall.EOPNOTSUPP), No, "EOPNOTSUPP: fallocate: operation not supported"},
		{fmt.Errorf("x: %w", syscall.ENOSYS), No, "ENOSYS: x: function not implemented"},
		{syscall.EINVAL, No, "EINVAL: invalid argument"},
		{syscall.ENOSPC, NotTried, "the try failed: ENOSPC: no space left on device"},
		{syscall.EPERM, NotTried, "the try failed: EPERM: operation not permitted"},
		{errors.New("odd"), NotTried, "the try failed: odd"},
		{errWrong("it lied"), No, "it lied"},
		{errNot("needs another"), NotTried, "needs another"},
	} {
		if got, text := answer("detail", c.err); got != c.want || text != c.text {
			t.Errorf("%v: %q %q, want %q %q", c.err, got, text, c.want, c.text)
		}
	}
}

// A file system that says yes and does something else must be found out.
func TestMustHold(t *testing.T) {
	f, err := scratch(t.TempDir(), blocks("a.c"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := mustHold(f, "a.c"); err != nil {
		t.Error(err)
	}
	for _, other := range []string{"abc", "a.", "a.c.", "..c"} {
		var wrong errWrong
		if err := mustHold(f, other); !errors.As(err, &wrong) {
			t.Errorf("%q: %v", other, err)
		}
	}
}

func TestScratchHasNoName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed")
	}
	dir := t.TempDir()
	f, err := scratch(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%v", entries)
	}
}

func TestWriteText(t *testing.T) {
	c := Capabilities{Schema: ProbeSchema, Capabilities: []Capability{
		{"O_DIRECT", Yes, "alignment 512 B", "past the cache"},
		{"FICLONE", No, "EOPNOTSUPP: ioctl", "copies"},
		{"x", NotTried, "Linux only", "y"},
	}}
	const want = `capabilities, tried on files in the directory
  O_DIRECT  yes        past the cache
                       alignment 512 B
  FICLONE   no         copies
                       EOPNOTSUPP: ioctl
  x         not tried  y
                       Linux only
`
	var b strings.Builder
	if err := c.WriteText(&b); err != nil || b.String() != want {
		t.Errorf("%v\ngot\n%s\nwant\n%s", err, b.String(), want)
	}
	if !c.Supports("O_DIRECT") || c.Supports("O_DIRECT", "FICLONE") || c.Supports("none") {
		t.Error("Supports")
	}
}

// Every field of the fingerprint is either found out or explained.
func TestRead(t *testing.T) {
	t.Setenv("GOGC", "123")
	dir := t.TempDir()
	e := Read(dir)
	if e.Dir != dir || e.OS != runtime.GOOS || e.Go != runtime.Version() || e.CPUs <= 0 || e.GoSettings["GOGC"] != "123" {
		t.Errorf("%+v", e)
	}
	for field, value := range map[string]string{
		"kernel": e.Kernel, "cpu": e.CPU, "governor": e.Governor, "fs": e.FS, "mount": e.Mount, "mount_options": e.Options,
		"journal": strings.TrimPrefix(e.Journal, "n/a"), "device": e.Device, "device_id": e.DeviceID, "model": e.Model,
		"rotational": e.Rotational, "scheduler": e.Scheduler, "write_cache": e.WriteCache,
	} {
		if (value == "") != (e.Unknown[field].Code != "") {
			t.Errorf("%s is %q, and the reason for not knowing it %+v", field, value, e.Unknown[field])
		}
	}
	if runtime.GOOS == "linux" && (e.Memory <= 0 || e.TotalBytes <= 0 || e.FreeBytes > e.TotalBytes) {
		t.Errorf("%+v", e)
	}
	if (e.Busy < 0 || e.Busy > 1) || e.Busy+e.IOWait+e.Steal > 1.0001 {
		t.Errorf("shares %v %v %v", e.Busy, e.IOWait, e.Steal)
	}
	for field := range e.Unknown {
		if _, ok := reflect.TypeFor[run.Environment]().FieldByNameFunc(func(n string) bool {
			f, _ := reflect.TypeFor[run.Environment]().FieldByName(n)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return name == field
		}); !ok {
			t.Errorf("%q is not known and not a field", field)
		}
	}

	missing := Read(filepath.Join(dir, "none"))
	for _, field := range append(directoryFields, "free_bytes", "total_bytes") {
		if missing.Unknown[field].Code == "" {
			t.Errorf("of a missing directory: no reason for %s", field)
		}
	}
}

// statx and the kernel agree on the alignment: half of it is refused, where
// the file system does refuse.
func TestDirectAlignmentIsTrue(t *testing.T) {
	f, st, err := direct(t.TempDir())
	if err != nil {
		t.Skip("no O_DIRECT here: ", err)
	}
	defer f.Close()
	if !st.DirectKnown || st.DirectOffset < 2 || st.DirectMem == 0 {
		t.Skip("statx tells no alignment here")
	}
	buf := sys.AlignedBuffer(st.DirectOffset/2, max(st.DirectMem, st.DirectOffset))
	if _, err := f.WriteAt(buf, 0); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("half of %d bytes written: %v", st.DirectOffset, err)
	}
}
