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

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
)

// aTornStore is aStore with three more batches in the log, of which the second is
// damaged.
func aTornStore(t *testing.T) {
	t.Helper()
	aStore(t)
	s, err := logstore.Open("store", logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		b := logstore.Batch{{Labels: logstore.MustLabels("app", "api"), Entries: []logstore.Entry{{Time: 1_700_000_000_000_000_100 + i, Line: []byte("in the log")}}}}
		if err := s.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("store/wal/*.wal")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		p, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first := strings.Index(string(p), "in the log")
		if first < 0 {
			continue
		}
		second := first + 1 + strings.Index(string(p[first+1:]), "in the log")
		p[second] ^= 1
		if err := os.WriteFile(file, p, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no file of the log has the lines")
}

func TestRepairTellsBefore(t *testing.T) {
	t.Chdir(t.TempDir())
	aTornStore(t)
	code, out, diag := stele(t, "repair", "store")
	if code != exitFailed || diag != "stele repair: store needs a repair; nothing was changed: --yes repairs it\n" {
		t.Errorf("exit code %d: %s", code, diag)
	}
	for _, want := range []string{
		"store in store: 1 segment up to position 4, log in store/wal\n",
		"cannot be opened: wal: store/wal/", "damaged: 0000", "the checksum of the payload is wrong",
		"kept of the log: 4 records with 2 entries, ", "positions 5-7, 9\n",
		"given up: 1 record: positions 8\n", "new log: positions 5 to before 10, ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}

	code, out, _ = stele(t, "repair", "store", "--json", "-")
	var doc repairDoc
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitFailed {
		t.Fatalf("exit code %d: %v in %s", code, err, out)
	}
	if doc.Schema != repairSchema || !doc.Needed || doc.Records != 4 || doc.Entries != 2 || len(doc.Lost) != 1 || doc.Lost[0] != (repairRange{8, 8}) || doc.OpenEnd {
		t.Errorf("%+v", doc)
	}
}

func TestRepair(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		t.Chdir(t.TempDir())
		aTornStore(t)
		args := []string{"repair", "store", "--yes"}
		if asJSON {
			args = append(args, "--json", "-")
		}
		code, out, diag := stele(t, args...)
		if code != exitOK || diag != "" {
			t.Fatalf("exit code %d: %s%s", code, out, diag)
		}
		old, err := filepath.Glob("store/quarantine/log-*Z")
		if err != nil || len(old) != 1 {
			t.Fatalf("quarantine: %v %v", old, err)
		}
		var doc repairDoc
		switch {
		case !asJSON && (!strings.Contains(out, "given up: 1 record: positions 8\n") || !strings.HasSuffix(out, "repaired: the old log is in "+old[0]+"\n")):
			t.Errorf("%s", out)
		case asJSON && (json.Unmarshal([]byte(out), &doc) != nil || doc.Quarantine != old[0] || !doc.Needed):
			t.Errorf("%s", out)
		}
		report, err := os.ReadFile(old[0] + ".txt")
		if err != nil || !strings.Contains(string(report), "lost:        1 positions: 8\n") {
			t.Errorf("%v in\n%s", err, report)
		}
		if code, out, diag := stele(t, "inspect", "store"); code != exitOK || !strings.Contains(out, "log: positions 5 to before 10") {
			t.Errorf("exit code %d: %s%s", code, out, diag)
		}
		if code, out, _ = stele(t, "repair", "store", "--yes"); code != exitOK || !strings.HasSuffix(out, "nothing to repair\n") {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
}

func TestRepairOfASoundStore(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	code, out, diag := stele(t, "repair", "store")
	if code != exitOK || diag != "" || !strings.HasSuffix(out, "nothing to repair\n") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	p, err := os.ReadFile(sealedFile)
	if err != nil {
		t.Fatal(err)
	}
	p[350] ^= 1
	if err := os.WriteFile(sealedFile, p, 0o666); err != nil {
		t.Fatal(err)
	}
	code, out, diag = stele(t, "repair", "store")
	if code != exitFailed || !strings.Contains(out, ": 0 entries can be read, 6 are in damaged blocks\n") || !strings.Contains(diag, "1 of 1 segments are damaged") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	if code, out, _ = stele(t, "repair", "store", "--quick"); code != exitOK {
		t.Errorf("--quick: exit code %d: %s", code, out)
	}
}

func TestRepairMissesASegment(t *testing.T) {
	for what, path := range map[string]string{"the segment": sealedFile, "the folder": "store/segments"} {
		t.Chdir(t.TempDir())
		aStore(t)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		missing := sealedFile + " is missing: positions 1 to 4 of the log, 6 entries from 2023-11-14T22:13:20Z"
		for _, args := range [][]string{{"repair", "store"}, {"repair", "store", "--yes"}} {
			code, out, diag := stele(t, args...)
			if code != exitFailed || !strings.Contains(out, missing) || !strings.Contains(out, "stele import FILE store") ||
				strings.Contains(out, "nothing to repair") || !strings.Contains(diag, "store: 1 segment missing") {
				t.Errorf("%s: %q: exit code %d: %s%s", what, args, code, out, diag)
			}
		}
		code, out, _ := stele(t, "repair", "store", "--json", "-")
		var doc repairDoc
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitFailed ||
			len(doc.Missing) != 1 || doc.Missing[0] != (repairMissingDoc{sealedFile, repairRange{1, 4}, 6}) {
			t.Errorf("%s: exit code %d: %v in %s", what, code, err, out)
		}
		if code, out, diag := stele(t, "inspect", "store"); code != exitFailed || !strings.Contains(out, missing) {
			t.Errorf("%s: inspect: exit code %d: %s%s", what, code, out, diag)
		}
	}
}

// A torn tail with whole records is told before Open cuts it, and no repair is said to
// mend it.
func TestWholeRecordsOfATornTail(t *testing.T) {
	t.Chdir(t.TempDir())
	o := logstore.Options{Level: durability.Kill, LateWindow: -1}
	s, err := logstore.Open("live", o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(20) {
		b := logstore.Batch{{Labels: logstore.MustLabels("app", "api"), Entries: []logstore.Entry{{Time: i, Line: fmt.Appendf(nil, "line %d.", i)}}}}
		if err := s.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.MkdirAll("store/segments", 0o777), os.CopyFS("store/wal", os.DirFS("live/wal")), s.Close()); err != nil {
		t.Fatal(err)
	}
	file := "store/wal/0000000000000001.wal"
	p, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	clear(p[strings.Index(string(p), "line 5."):strings.Index(string(p), "line 8.")])
	if err := os.WriteFile(file, p, 0o666); err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{{"inspect", "store"}, {"repair", "store"}, {"repair", "store", "--yes"}} {
		code, out, diag := stele(t, args...)
		if code != exitFailed || strings.Contains(out, "sound:") || strings.Contains(out, "nothing to repair") ||
			!strings.Contains(out, "with 11 whole records behind one that is not whole") ||
			!strings.Contains(out, "keeps a copy in quarantine") || !strings.Contains(diag, "11 whole") {
			t.Errorf("%q: exit code %d: %s%s", args, code, out, diag)
		}
	}
	code, out, _ := stele(t, "repair", "store", "--json", "-")
	var doc repairDoc
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitFailed || doc.Needed || doc.Torn == nil || doc.Torn.Records != 11 {
		t.Errorf("exit code %d: %v in %s", code, err, out)
	}
	if code, out, _ = stele(t, "inspect", "store", "--json", "-"); code != exitFailed || !strings.Contains(out, `"sound":false`) || !strings.Contains(out, `"records":11`) {
		t.Errorf("exit code %d: %s", code, out)
	}

	if s, err = logstore.Open("store", o); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.TornRecords != 11 || st.TornBytes == 0 {
		t.Errorf("%d records and %d bytes were cut; want 11 records", st.TornRecords, st.TornBytes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"inspect", "store"}, {"repair", "store"}} {
		if code, out, diag := stele(t, args...); code != exitOK {
			t.Errorf("%q: exit code %d: %s%s", args, code, out, diag)
		}
	}
}

// Where the log and all segments are gone, what is in quarantine is said.
func TestRepairOfNothingButAQuarantine(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	if err := errors.Join(os.MkdirAll("store/quarantine", 0o777), os.Rename(sealedFile, "store/quarantine/"+filepath.Base(sealedFile)), os.RemoveAll("store/segments"), os.RemoveAll("store/wal")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"repair", "store"}, {"repair", "store", "--yes"}, {"inspect", "store"}} {
		code, out, diag := stele(t, args...)
		if code != exitFailed || out != "" || !strings.Contains(diag, "store/quarantine has 1 segment, 0 logs and 0 torn tails of the log, perhaps the only copies: stele import") {
			t.Errorf("%q: exit code %d: %s%s", args, code, out, diag)
		}
	}
}

func TestRepairRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "DIR: 0 arguments; want 1"},
		{[]string{"."}, exitFailed, "there is no store in this directory"},
		{[]string{"none"}, exitFailed, "no such file or directory"},
		{[]string{"none", "--progress", "much"}, exitUsage, "--progress"},
	} {
		code, out, diag := stele(t, append([]string{"repair"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(diag, c.want) {
			t.Errorf("%v: exit code %d: %s%s", c.args, code, out, diag)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	aStore(t)
	if code := repairCommand(ctx, []string{"store"}, nil, io.Discard, io.Discard); code != exitInterrupted {
		t.Errorf("interrupted: exit code %d", code)
	}
}

// A log beside a segment of another store: inspect tells, and a repair keeps the log.
func TestRepairKeepsALogBesideAnotherStore(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	s, err := logstore.Open("alone", logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := logstore.Batch{{Labels: logstore.MustLabels("app", "api"), Entries: []logstore.Entry{{Time: 1_700_000_000_000_000_100, Line: []byte("in the log")}}}}
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := os.ReadFile(sealedFile)
	if err == nil {
		err = os.WriteFile(filepath.Join("alone", "segments", filepath.Base(sealedFile)), p, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	const why = "is not the log of these segments"
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"inspect", "alone"}, exitFailed, []string{"\nother log: ", ", with 6 entries: it is of the log ", "damaged: alone/wal " + why}},
		{[]string{"inspect", "alone", "--json=-"}, exitFailed, []string{`"kind":"other_log"`, `"other_log":1,`}},
		{[]string{"repair", "alone"}, exitFailed, []string{why, "kept of the log: 2 records with 1 entry", "given up: nothing", "not of this log: " + filepath.Base(sealedFile), "6 entries", "goes to quarantine", "the log stays as it is: positions 1 to before 3"}},
		{[]string{"repair", "alone", "--json=-"}, exitFailed, []string{`"log_kept": true`, `"served": false`}},
		{[]string{"repair", "alone", "--yes"}, exitOK, []string{"repaired: the log is as it was, and 1 segment set aside in quarantine"}},
		{[]string{"inspect", "alone"}, exitOK, []string{"sound: 0 segments", filepath.Base(sealedFile)}},
		{[]string{"repair", "alone"}, exitOK, []string{"nothing to repair"}},
	} {
		code, out, diag := stele(t, c.args...)
		if code != c.code {
			t.Errorf("%q: exit code %d: %s", c.args, code, diag)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%q: %q is missing in\n%s", c.args, want, out)
			}
		}
	}
}

// With the log and a segment gone, the plan tells the gap too, and that deletions are
// given up; both are told until the store is opened.
func TestRepairTellsGaps(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	s, err := logstore.Open("store", logstore.Options{LateWindow: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(2) {
		b := logstore.Batch{{Labels: logstore.MustLabels("app", "api"), Entries: []logstore.Entry{{Time: 2 + i, Line: []byte("more")}}}}
		if err := errors.Join(s.Append(t.Context(), b), s.Seal(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("store/segments/*.seg")
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	if err := errors.Join(os.Remove(files[1]), os.RemoveAll("store/wal")); err != nil {
		t.Fatal(err)
	}
	gap := "neither a segment nor the log has positions 5 to "
	for _, args := range [][]string{{"repair", "store"}, {"inspect", "store"}, {"repair", "store", "--yes"}, {"inspect", "store"}, {"repair", "store"}} {
		code, out, diag := stele(t, args...)
		if code != exitFailed || !strings.Contains(out, gap) {
			t.Errorf("%q: exit code %d: %s%s", args, code, out, diag)
		}
		if strings.Contains(out, "the old log is in") || slices.Contains(args, "--yes") != strings.Contains(out, "repaired: there was no log to keep, the report is in store/quarantine/log-") {
			t.Errorf("%q: %s", args, out)
		}
		if repairs := strings.Contains(out, "cannot be opened"); repairs != strings.Contains(out, "delete them again") {
			t.Errorf("%q: %s", args, out)
		}
	}
}
