package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
	"github.com/stele-go/stele/logstore"
)

// anExport changes into a directory with a store, and returns the call that exports three
// lines of it to out.csv, and what that writes.
func anExport(t *testing.T) (args []string, whole []byte) {
	t.Helper()
	t.Chdir(t.TempDir())
	aStore(t)
	args = []string{"export", `{app="api"}`, "--data", "store", "--from", "0", "-o", "csv", "--file", "out.csv"}
	if code, _, diag := stele(t, args...); code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	whole, err := os.ReadFile("out.csv")
	if err != nil || strings.Count(string(whole), "\n") != 4 {
		t.Fatalf("%v\n%s", err, whole)
	}
	if err := os.Remove("out.csv"); err != nil {
		t.Fatal(err)
	}
	return args, whole
}

// interrupt leaves the files of the export as after an interruption after the second line, and
// returns the state.
func interrupt(t *testing.T, whole []byte) exportState {
	t.Helper()
	lines := bytes.SplitAfter(whole, []byte("\n"))
	kept := bytes.Join(lines[:3], nil)
	state := exportState{
		Schema: exportSchema, Query: `{app="api"}`, Since: "1h", From: "0", To: "now", Format: "csv", Compress: "none",
		End: 1_800_000_000_000_000_000, Bytes: int64(len(kept)), Lines: 2, Cursor: cursorOf(t, 1),
	}
	if err := errors.Join(state.write("out.csv"), os.WriteFile("out.csv.part", append(kept, "torn"...), 0o666)); err != nil {
		t.Fatal(err)
	}
	return state
}

// exported checks that out.csv is whole, and that nothing else is left.
func exported(t *testing.T, whole []byte) {
	t.Helper()
	if got, err := os.ReadFile("out.csv"); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%v\n%q\nwant\n%q", err, got, whole)
	}
	if left, _ := filepath.Glob("out.csv.part*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestExportResumes(t *testing.T) {
	args, whole := anExport(t)
	resume := append(args, "--resume")
	interrupt(t, whole)
	if code, _, diag := stele(t, resume...); code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	exported(t, whole)
	if code, _, diag := stele(t, resume...); code != exitFailed || !strings.Contains(diag, "nothing to go on with") {
		t.Errorf("exit code %d: %s", code, diag)
	}
}

// A call without --resume begins anew: --resume after that does not go on with the state of
// an older call.
func TestExportBeginsAnew(t *testing.T) {
	args, whole := anExport(t)
	interrupt(t, whole)
	broken := append([]string{"export", `{app="api"}`, "--addr", "http://" + freeAddress(t)}, args[4:]...)
	if code, _, diag := stele(t, broken...); code != exitFailed || !strings.Contains(diag, "'stele serve --data DIR' starts one") {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	if code, _, diag := stele(t, append(args, "--resume")...); code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	exported(t, whole)
}

// An export that was killed while FILE.part got its name is complete.
func TestExportResumesAtItsEnd(t *testing.T) {
	args, whole := anExport(t)
	for _, name := range []string{"out.csv", "out.csv.part"} {
		state := interrupt(t, whole)
		state.Complete, state.Bytes, state.Lines = true, int64(len(whole)), 3
		if err := errors.Join(state.write("out.csv"), os.Remove("out.csv.part"), os.WriteFile(name, whole, 0o666)); err != nil {
			t.Fatal(err)
		}
		if code, _, diag := stele(t, append(args, "--resume")...); code != exitOK {
			t.Fatalf("exit code %d: %s", code, diag)
		}
		exported(t, whole)
	}
}

func TestExportRefusesToGoOn(t *testing.T) {
	args, whole := anExport(t)
	interrupt(t, whole)
	for _, c := range []struct {
		args []string // after those of the first call, or a whole call
		want string
	}{
		{append([]string{"export", `{app="web"}`}, args[2:]...), `QUERY: "{app=\"web\"}"; want "{app=\"api\"}", as in the call that --resume goes on with`},
		{[]string{"export", `{app="api"}`, "--data", "store", "--since", "2h", "-o", "csv", "--file", "out.csv"}, `--since: "2h"; want "1h", as in`},
		{[]string{"--from", "1"}, `--from: "1"; want "0", as in`},
		{[]string{"--to", "1800000000"}, `--to: "1800000000"; want "now", as in`},
		{[]string{"-n", "7"}, `--limit: 7; want 0, as in`},
		{[]string{"-o", "json"}, `--output: "json"; want "csv", as in`},
		{[]string{"--compress", "gzip"}, `--compress: "gzip"; want "none", as in`},
		{[]string{"--tenant", "other"}, `--tenant: "other"; want "", as in`},
		{[]string{"--file", "-"}, `--resume: true; want a --file with it`},
	} {
		call := append(append([]string(nil), args...), c.args...)
		if c.args[0] == "export" {
			call = c.args
		}
		if code, _, diag := stele(t, append(call, "--resume")...); code != exitUsage || !strings.Contains(diag, c.want) {
			t.Errorf("%q: exit code %d: %s; want %s", c.args, code, diag, c.want)
		}
	}
	if err := os.Truncate("out.csv.part", 3); err != nil {
		t.Fatal(err)
	}
	if code, _, diag := stele(t, append(args, "--resume")...); code != exitFailed || !strings.Contains(diag, "out.csv.part: 3 bytes, of which") {
		t.Errorf("exit code %d: %s", code, diag)
	}
	if st, err := os.Stat("out.csv.part"); err != nil || st.Size() != 3 {
		t.Errorf("out.csv.part was changed: %v, %v", st, err)
	}
}

// A limit counts the lines of all calls.
func TestExportResumesWithALimit(t *testing.T) {
	for limit, want := range map[int]int{2: 3, 3: 4} { // lines of the export, and of its file
		args, whole := anExport(t)
		state := interrupt(t, whole)
		state.Limit = limit
		if err := state.write("out.csv"); err != nil {
			t.Fatal(err)
		}
		if code, _, diag := stele(t, append(args, "--resume", "-n", fmt.Sprint(limit))...); code != exitOK {
			t.Fatalf("exit code %d: %s", code, diag)
		}
		exported(t, bytes.Join(bytes.SplitAfter(whole, []byte("\n"))[:want], nil))
	}
}

// Every format has each byte of a line.
func TestExportedBytes(t *testing.T) {
	t.Chdir(t.TempDir())
	const line = "a\xff\x00\x1b[31m \"b\", \r\n\tc\u009b"
	s, err := logstore.Open("store", logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Append(t.Context(), logstore.Batch{{Labels: logstore.MustLabels("app", "api"), Entries: []logstore.Entry{
		{Time: 1_700_000_000_000_000_000, Line: []byte(line)}, {Time: 1_700_000_000_000_000_001, Line: nil},
	}}})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{
		"raw": line + "\n\n",
		"csv": "time,labels,metadata,line\n" +
			`2023-11-14T22:13:20Z,"{app=""api""}",,"` + strings.ReplaceAll(line, `"`, `""`) + "\"\n" +
			`2023-11-14T22:13:20.000000001Z,"{app=""api""}",,` + "\n",
		"json": `{"time":"2023-11-14T22:13:20Z","labels":{"app":"api"},"line64":"` + base64.StdEncoding.EncodeToString([]byte(line)) + `"}` + "\n" +
			`{"time":"2023-11-14T22:13:20.000000001Z","labels":{"app":"api"},"line":""}` + "\n",
	} {
		code, out, diag := stele(t, "export", `{app="api"}`, "--data", "store", "--from", "0", "-o", format)
		if code != exitOK || out != want {
			t.Errorf("%s: exit code %d: %s\n got %q\nwant %q", format, code, diag, out, want)
		}
	}
}

// A terminal gets no control characters, whether it shows colours or not. Others get them
// as they are.
func TestTerminalsGetNoControlCharacters(t *testing.T) {
	entry := exportEntry("a\x1b[31m\u009b\x00\xffb\n\tc")
	for _, format := range []string{"text", "raw", "csv", "json"} {
		for _, tame := range []bool{true, false} {
			var b bytes.Buffer
			p, err := newEntryPrinter(&b, format, style{tame: tame})
			if err := errors.Join(err, p.print(entry), p.flush()); err != nil {
				t.Fatal(err)
			}
			some := strings.ContainsFunc(b.String(), isControl)
			if exact := format == "json" || strings.Contains(b.String(), entry.Line); tame && some || !tame && !exact {
				t.Errorf("%s, tame %v: %q", format, tame, &b)
			}
		}
	}
}

func TestStyleOfATerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("needs a terminal: ", err)
	}
	defer terminal.Close()
	if got, err := newStyle("never", terminal); err != nil || got != (style{tame: true}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := newStyle("auto", new(bytes.Buffer)); err != nil || got != (style{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestExplainAsJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	args := []string{"query", `{app="api"} |= "line"`, "--data", "store", "--explain", "-o"}
	code, out, diag := stele(t, append(args, "json")...)
	var doc struct {
		Text string
		Tree json.RawMessage
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK || doc.Text == "" || doc.Tree == nil {
		t.Errorf("exit code %d: %v in %s%s", code, err, out, diag)
	}
	if code, _, diag := stele(t, append(args, "csv")...); code != exitUsage || !strings.Contains(diag, `--output with --explain: "csv"; want text or json`) {
		t.Errorf("exit code %d: %s", code, diag)
	}
}

func exportEntry(line string) lokiclient.Entry {
	return lokiclient.Entry{Time: 1, Line: line, Labels: map[string]string{"app": "api"}}
}

// cursorOf returns the cursor of the i-th line of {app="api"} in the store.
func cursorOf(t *testing.T, i int) string {
	t.Helper()
	s, err := logstore.OpenReadOnly("store", logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := logstore.Match("app", logstore.Equal, "api")
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range s.Query(t.Context(), logstore.Query{Selector: logstore.Selector{m}, Cursors: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			return r.Cursor().String()
		}
		i--
	}
	t.Fatal("there are fewer lines")
	return ""
}
