package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestReportSVG(t *testing.T) {
	measured(t)
	code, out, diag := stele(t, "report", "run.json", "--svg", "-")
	if code != exitOK || !strings.HasPrefix(out, "<svg ") || !strings.Contains(out, "os.MkdirAll") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	for call, want := range map[string]string{
		"run.json --svg x.svg --experiment mkdir/none": `--experiment: "mkdir/none"; want the ID of one result of the run, which has mkdir/depth/depth=1`,
		"run.json --experiment mkdir/depth/depth=1":    "--experiment: want --svg with it",
		"run.json --svg - --json -":                    "--json and --svg: both are standard output",
	} {
		if code, _, diag := stele(t, append([]string{"report"}, strings.Fields(call)...)...); code != exitUsage || !strings.Contains(diag, want) {
			t.Errorf("report %s: exit code %d: %s\nwant %s", call, code, diag, want)
		}
	}
	if _, err := os.Stat("x.svg"); err == nil {
		t.Error("a wrong call wrote a picture")
	}
}

// An output file appears once it is complete, with the permissions of the one
// before it. A device is written to.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	say := func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return err
	}
	holds := func(want string) {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil || string(b) != want {
			t.Errorf("%q, %v", b, err)
		}
		if fi, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && fi.Mode() != 0o600 {
			t.Error(fi.Mode(), err)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Error(all, err)
		}
	}
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	if err := writeFile(name, nil, func(w io.Writer) error { return errors.Join(say(w), failed) }); !errors.Is(err, failed) {
		t.Error(err)
	}
	holds("old")
	if err := writeFile(name, nil, say); err != nil {
		t.Error(err)
	}
	holds("new")

	link := filepath.Join(dir, "null")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip(err)
	}
	if err := writeFile(link, nil, say); err != nil {
		t.Error(err)
	}
	if fi, err := os.Lstat(link); err != nil || fi.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link to a device is %v, %v", fi, err)
	}
}
