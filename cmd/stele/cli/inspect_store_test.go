package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore"
)

// sealedFile is the segment of aStore.
const sealedFile = "store/segments/0000000000000000-0000000000000004-00000000.seg"

// aStore makes the store that the examples of inspect look at, in the directory
// store: the term and three batches of two streams, sealed into one segment.
func aStore(t *testing.T) {
	t.Helper()
	s, err := logstore.Open("store", logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		var b logstore.Batch
		for _, app := range []string{"api", "web"} {
			b = append(b, logstore.Stream{Labels: logstore.MustLabels("app", app, "level", "info"), Entries: []logstore.Entry{
				{Time: 1_700_000_000_000_000_000 + int64(i), Line: fmt.Appendf(nil, "request %d of %s took 17 ms", i, app)},
			}})
		}
		if err := s.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Seal(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestInspectSections(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	code, out, diag := stele(t, "inspect", "store", "--sections")
	if code != exitOK || diag != "" {
		t.Errorf("exit code %d: %s", code, diag)
	}
	for _, want := range []string{"sections of 0000", "(blocks) ", "\nlabels ", "\nzones ", "\norigin ", "(header, table, footer)", "tenants of 0000", `"" `} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	code, out, _ = stele(t, "inspect", sealedFile, "--sections", "--json", "-")
	fi, err := os.Stat(sealedFile)
	if err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v", code, err)
	}
	bytes, tenants := int64(0), 0
	for line := range strings.Lines(out) {
		var v struct {
			Kind    string `json:"kind"`
			Bytes   int64  `json:"bytes"`
			Entries int64  `json:"entries"`
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		switch {
		case v.Kind == "section":
			bytes += v.Bytes
		case v.Kind == "tenant" && v.Entries == 6:
			tenants++
		}
	}
	if bytes == 0 || bytes >= fi.Size() || tenants != 1 {
		t.Errorf("%d bytes of sections of %d, %d tenants in\n%s", bytes, fi.Size(), tenants, out)
	}
	if code, _, diag := stele(t, "inspect", "store/wal", "--sections"); code != exitUsage || !strings.Contains(diag, "want a store or a segment") {
		t.Errorf("exit code %d: %s", code, diag)
	}
}

func TestInspectDeletions(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	s, err := logstore.Open("store", logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Delete(t.Context(), logstore.Deletion{Selector: logstore.Selector{{Name: "app", Op: logstore.Equal, Value: "web"}}, Lines: []logstore.LineMatch{{Op: logstore.NotEqual, Text: "x y"}}, To: 1_700_000_000_000_000_002})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	code, out, diag := stele(t, "inspect", "store")
	if code != exitOK || diag != "" {
		t.Errorf("exit code %d: %s", code, diag)
	}
	for _, want := range []string{"6 entries", "\n1 deletions are pending: deleted entries are counted too\n", "\npending deletion of ", "\n{app=\"web\"} != \"x y\"  ", "2023-11-14T22:13:20.000000002Z"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	code, out, _ = stele(t, "inspect", "store", "--json", "-")
	found := 0
	for line := range strings.Lines(out) {
		var l struct {
			Kind, Tenant, Selector, From, To, Time string
			Lines                                  []string
			Segments                               int
			Position, Bytes                        int64
		}
		if err := json.Unmarshal([]byte(line), &l); err == nil && l.Kind == "deletion" {
			found++
			if l.Selector != `{app="web"}` || !slices.Equal(l.Lines, []string{`!= "x y"`}) || l.From != "" || l.To != "2023-11-14T22:13:20.000000002Z" || l.Segments != 1 || l.Bytes == 0 || l.Position < 5 || l.Time == "" {
				t.Errorf("%s", line)
			}
		}
	}
	if code != exitOK || found != 1 || !strings.Contains(out, `"deletions":1`) {
		t.Errorf("exit code %d, %d deletions in\n%s", code, found, out)
	}
}

func TestInspectStore(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	code, out, diag := stele(t, "inspect", "store", "--streams", "--blocks")
	if code != exitOK || diag != "" {
		t.Errorf("exit code %d: %s", code, diag)
	}
	for _, want := range []string{
		"store in store\n1 segments, 1 blocks, 6 entries, ", "index: 2 streams, 2 names and 3 values of labels, 2 items", "in store/wal begins at position 5",
		filepath.Base(sealedFile) + "  1-4  ", "2023-11-14T22:13:20.000000002Z", `{app="web", level="info"}`, "blocks of 0000",
		"sound: 1 segments, 1 blocks, 6 entries, ", "log: positions 5 to before 6", // the roster
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}

	for _, c := range []struct {
		path string
		want map[string]int
	}{
		{"store", map[string]int{"store": 1, "sealed": 1, "stream": 2, "block": 1, "verdict": 1}},
		{sealedFile, map[string]int{"sealed": 1, "stream": 2, "block": 1, "verdict": 1}},
	} {
		code, out, _ := stele(t, "inspect", c.path, "--streams", "--blocks", "--json", "-")
		if code != exitOK {
			t.Errorf("%s: exit code %d", c.path, code)
		}
		kinds := map[string]int{}
		first := true
		for line := range strings.Lines(out) {
			var l struct {
				Schema, Kind  string
				Entries, Runs int
				Sound         bool
				Labels        map[string]string
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			kinds[l.Kind]++
			switch {
			case first != (l.Schema == inspectSchema),
				(l.Kind == "sealed" || l.Kind == "block") && l.Entries != 6,
				l.Kind == "stream" && (l.Entries != 3 || l.Runs != 1 || l.Labels["level"] != "info"),
				l.Kind == "verdict" && (!l.Sound || l.Entries != 6):
				t.Errorf("%s", line)
			}
			first = false
		}
		if fmt.Sprint(kinds) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v in\n%s", c.path, kinds, out)
		}
	}
}

func TestInspectTellsDamageOfAStore(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	intact, err := os.ReadFile(sealedFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   int
		want string
		lost bool // the index is damaged, so blocks may be missing
	}{
		{len(intact) - 1, "the footer is not as it was written", true},
		{4, "the header is not as it was written", false},
		{350, "block 0: ", false},
	} {
		p := append([]byte(nil), intact...)
		p[c.at] ^= 1
		if err := os.WriteFile(sealedFile, p, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"store"}, {sealedFile}, {"store", "--streams", "--blocks", "--json", "-"}} {
			code, out, diag := stele(t, append([]string{"inspect"}, args...)...)
			if code != exitFailed || !strings.Contains(diag, c.want) || !strings.Contains(out, c.want) {
				t.Errorf("%v, damaged at %d: exit code %d: %s%s", args, c.at, code, out, diag)
			}
			lost := strings.Contains(out, "\nlost: ") || strings.Contains(out, `{"kind":"lost",`)
			if lost != c.lost || lost && !strings.Contains(out, "blocks at the end of the file may be missing") {
				t.Errorf("%v, damaged at %d: lost %v; want %v\n%s", args, c.at, lost, c.lost, out)
			}
		}
	}
}

func TestInspectMissesASegment(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	if err := os.Remove(sealedFile); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ json, want string }{
		{"", "\nmissing: 1 segments"},
		{"--json=-", `"missing":1,`},
	} {
		args := []string{"inspect", "store"}
		if c.json != "" {
			args = append(args, c.json)
		}
		code, out, diag := stele(t, args...)
		gone := sealedFile + " is missing: positions 1 to 4 of the log, 6 entries from 2023-11-14T22:13:20Z"
		if code != exitFailed || !strings.Contains(diag, gone) || !strings.Contains(out, gone) || !strings.Contains(out, c.want) {
			t.Errorf("%q: exit code %d: %s%s", args, code, out, diag)
		}
	}
}

func TestInspectStoreIsInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range []string{"store", sealedFile} {
		if code := inspect(ctx, []string{path}, nil, io.Discard, io.Discard); code != exitInterrupted {
			t.Errorf("%s: exit code %d", path, code)
		}
	}
}

func TestInspectTemplates(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	if code, out, diag := stele(t, "recode", "store"); code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, out, diag)
	}
	code, out, diag := stele(t, "inspect", "store", "--templates", "--blocks")
	if code != exitOK || diag != "" {
		t.Errorf("exit code %d: %s", code, diag)
	}
	for _, want := range []string{"costs of 0000", "\nlines ", "\ntimes ", "\nindex ", "templates of 0000", "<*>", "columns of 0000", " columns\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	code, out, _ = stele(t, "inspect", "store", "--templates", "--json", "-")
	for _, want := range []string{`"kind":"cost"`, `"part":"positions"`, `"kind":"template"`, `"kind":"column"`} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("exit code %d: %s is missing in\n%s", code, want, out)
		}
	}
}
