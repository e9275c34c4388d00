package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/wal"
)

// aLog makes the log that the examples of inspect look at, in the directory log.
func aLog(t *testing.T) {
	t.Helper()
	l, err := wal.Open("log", wal.Options{SegmentSize: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range []string{"first", "second", strings.Repeat("long ", 20)} {
		if _, err := l.Append(t.Context(), []byte(rec)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestInspect(t *testing.T) {
	t.Chdir(t.TempDir())
	aLog(t)
	code, out, diag := stele(t, "inspect", "log", "--records", "--from", "2")
	if code != exitOK || diag != "" {
		t.Errorf("exit code %d: %s", code, diag)
	}
	for _, want := range []string{" in log, layout version 1", "0000000000000001.wal  active", "1-3", "closed", `"second"`, `"long long `, "sound, closed: positions 1 to before 4"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, `"first"`) {
		t.Errorf("a record before --from is in\n%s", out)
	}

	code, out, _ = stele(t, "inspect", "log", "--records", "--json", "-")
	if code != exitOK {
		t.Errorf("--json: exit code %d", code)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(out) {
		var l struct {
			Schema, Kind, Type string
			Data               []byte
			Position, Next     uint64
			Sound              bool
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kinds[l.Kind]++
		switch {
		case l.Kind == "log" && l.Schema != inspectSchema,
			l.Kind == "record" && l.Position == 2 && string(l.Data) != "second",
			l.Kind == "verdict" && (!l.Sound || l.Next != 4):
			t.Errorf("%s", line)
		}
	}
	if kinds["log"] != 1 || kinds["segment"] < 1 || kinds["record"] != 4 || kinds["verdict"] != 1 {
		t.Errorf("%v in\n%s", kinds, out)
	}
}

func TestInspectTellsDamage(t *testing.T) {
	t.Chdir(t.TempDir())
	aLog(t)
	name := filepath.Join("log", "0000000000000001.wal")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[4096+24] ^= 1 // the payload of the first record
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"inspect", "log"}, {"inspect", "log", "--records", "--json", "-"}} {
		code, out, diag := stele(t, args...)
		if code != exitFailed || !strings.Contains(diag, name+" is damaged at offset 4096") || !strings.Contains(out, "is damaged at offset 4096") {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, diag)
		}
	}
}

func TestInspectRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.MkdirAll("store/segments", 0o777), os.WriteFile("file", []byte("no store"), 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		diag string
	}{
		{[]string{"inspect"}, exitUsage, "PATH: 0 arguments; want 1"},
		{[]string{"inspect", "a", "b"}, exitUsage, "PATH: 2 arguments; want 1"},
		{[]string{"inspect", ".", "--from", "3"}, exitUsage, "--from: want --records with it"},
		{[]string{"inspect", "."}, exitFailed, "there is no log in this directory"},
		{[]string{"inspect", "nowhere"}, exitFailed, "no such file"},
		{[]string{"inspect", ".", "--blocks"}, exitUsage, "want a store or a segment"},
		{[]string{"inspect", "store", "--records"}, exitUsage, "is its directory wal"},
		{[]string{"inspect", "file"}, exitFailed, "file: not a segment"},
	} {
		code, out, diag := stele(t, c.args...)
		if code != c.code || out != "" || !strings.Contains(diag, c.diag) {
			t.Errorf("%v: exit code %d, %q, %q", c.args, code, out, diag)
		}
	}
}
