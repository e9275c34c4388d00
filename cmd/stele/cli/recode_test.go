package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore"
)

// A store is recoded to columns and back, which its report tells.
func TestRecode(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	lines := linesIn(t, "store")
	if len(lines) != 6 {
		t.Fatal(lines)
	}
	recode := func(codec logstore.Codec, args ...string) (doc recodeDoc) {
		t.Helper()
		code, out, diag := stele(t, append([]string{"recode", "store", "--codec", codec.String(), "--json", "-"}, args...)...)
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK || doc.Schema != recodeSchema || doc.Dir != "store" || doc.Codec != codec {
			t.Fatalf("%v: exit code %d: %v in %s%s", codec, code, err, out, diag)
		}
		if now := linesIn(t, "store"); !slices.Equal(now, lines) {
			t.Errorf("%v: %q; want %q", codec, now, lines)
		}
		return doc
	}
	recode(logstore.CodecLines) // whatever codec the store began with
	const raw = 6 * int64(len("request 0 of api took 17 ms"))
	for _, codec := range []logstore.Codec{logstore.CodecColumns, logstore.CodecLines} {
		doc := recode(codec, "--memory", "64M", "--rate", "1M")
		if doc.Lines != raw || doc.Before == 0 || doc.After == 0 || doc.Before == doc.After {
			t.Errorf("%v: %+v", codec, doc)
		}
		if doc := recode(codec); doc.Lines != 0 || doc.Before != doc.After {
			t.Errorf("%v again: %+v", codec, doc)
		}
	}
	code, out, diag := stele(t, "recode", "store", "--codec", "columns")
	if want := fmt.Sprintf("store: %d bytes of lines are recoded as columns: segments of ", raw); code != exitOK || diag != "" || !strings.HasPrefix(out, want) {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
}

// linesIn returns the lines of a store, by their times.
func linesIn(t *testing.T, dir string) (lines []string) {
	t.Helper()
	s, err := logstore.OpenReadOnly(dir, logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for e, err := range s.Query(t.Context(), logstore.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(e.Line))
	}
	return lines
}

func TestRecodeRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "DIR: 0 arguments; want 1"},
		{[]string{"store", "--codec", "rows"}, exitUsage, "columns or lines"},
		{[]string{"store", "--rate", "fast"}, exitUsage, "--rate"},
		{[]string{"none"}, exitFailed, "no such file or directory"},
	} {
		code, out, diag := stele(t, append([]string{"recode"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(diag, c.want) {
			t.Errorf("%v: exit code %d: %s%s", c.args, code, out, diag)
		}
	}
}
