package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/logstore"
)

// inspected makes a store of three segments with 2 streams of 50 entries each,
// and 10 more entries in the log.
func inspected(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := logstore.Open(dir, logstore.Options{MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	add := func(from, n int) {
		for _, app := range []string{"api", "web"} {
			st := logstore.Stream{Labels: logstore.MustLabels("app", app, "host", "a")}
			for i := range n {
				st.Entries = append(st.Entries, logstore.Entry{Time: int64(from+i) * 1e9, Line: fmt.Appendf(nil, "line %d of %s", from+i, app)})
			}
			if err := s.Append(t.Context(), logstore.Batch{st}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 3 {
		add(100*i, 50)
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	add(900, 5)
	return dir
}

func TestInspect(t *testing.T) {
	dir := inspected(t)
	in, err := logstore.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	if in.Index != (logstore.IndexInfo{Tenants: 1, Streams: 2, Names: 2, Values: 3, Items: 6}) || len(in.Segments) != 3 || len(in.Quarantined) != 0 {
		t.Errorf("%+v", in)
	}
	if in.LogErr != nil || in.Log.First != 10 {
		t.Errorf("the log: %+v, %v", in.Log, in.LogErr)
	}
	for i, s := range in.Segments {
		// A record for each app, and before them the term or the roster.
		after, upto := uint64(3*i), uint64(3*i+3)
		if s.After != after || s.Upto != upto || s.Rows != 100 || s.Streams != 2 || s.Blocks != 1 || s.Leftover || s.Err != nil {
			t.Errorf("%+v", s)
		}
		if s.MinTime != int64(100*i)*1e9 || s.MaxTime != int64(100*i+49)*1e9 || s.BlockBytes+s.FilterBytes >= s.Size || s.BlockBytes == 0 {
			t.Errorf("%+v", s)
		}
		one, err := logstore.InspectSegment(s.File)
		if err != nil {
			t.Fatal(err)
		}
		var rows, raw int64
		for st, err := range one.EachStream() {
			if err != nil || st.Runs != 1 || st.Labels.Get("host") != "a" {
				t.Errorf("%+v, %v", st, err)
			}
			rows, raw = rows+st.Rows, raw+st.Raw
		}
		for b, err := range one.EachBlock() {
			if err != nil || b.Rows != rows || b.Raw != raw || b.Streams != 2 || b.MinTime != s.MinTime || b.MaxTime != s.MaxTime || b.Bytes != s.BlockBytes {
				t.Errorf("%+v, %v", b, err)
			}
		}
		if rows != s.Rows || raw != s.Raw {
			t.Errorf("%d entries of %d bytes, want %d of %d", rows, raw, s.Rows, s.Raw)
		}
		if err := one.Close(); err != nil {
			t.Error(err)
		}
	}

	var done int64
	v, err := logstore.Verify(t.Context(), dir, func(p logstore.VerifyProgress) {
		if p.Done <= done {
			t.Errorf("%d bytes are done after %d", p.Done, done)
		}
		done = p.Done
	})
	if err != nil || len(v.Segments) != 3 || v.Log.First != 10 || v.Log.Next != 13 {
		t.Errorf("%+v, %v", v, err)
	}
	total := int64(0)
	for _, s := range v.Segments {
		total += s.Size
	}
	if done < total {
		t.Errorf("%d of %d bytes were read", done, total)
	}
}

// Every byte of a segment is verified.
func TestVerifyTellsDamage(t *testing.T) {
	dir := inspected(t)
	in, err := logstore.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := in.Segments[1].File
	intact, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(intact); at += 13 {
		p := append([]byte(nil), intact...)
		p[at] ^= 0x10
		if err := os.WriteFile(file, p, 0o666); err != nil {
			t.Fatal(err)
		}
		v, err := logstore.Verify(t.Context(), dir, nil)
		c, ok := errors.AsType[*logstore.CorruptError](err)
		if !ok || c.File != file || v == nil || len(v.Segments[1].Damage) == 0 || v.Segments[0].Err() != nil || v.Segments[2].Err() != nil {
			t.Fatalf("flipped at %d: %v", at, err)
		}
		in, err := logstore.Inspect(dir)
		if err != nil || len(in.Segments) != 3 {
			t.Fatalf("flipped at %d: Inspect: %v", at, err)
		}
		s := in.Segments[1]
		if s.File != file || s.Err == nil && s.Rows != 100 || s.After != 3 || s.Upto != 6 {
			t.Fatalf("flipped at %d: %+v", at, s)
		}
	}

	// Open repairs it, or moves it to quarantine.
	s, err := logstore.Open(dir, logstore.Options{MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := logstore.Verify(t.Context(), dir, nil); err != nil {
		t.Errorf("after it was repaired: %v", err)
	}
	if in, err = logstore.Inspect(dir); err != nil || len(in.Quarantined) != 1 || in.Quarantined[0].Report == "" || in.Quarantined[0].Size != int64(len(intact)) {
		t.Errorf("in quarantine: %+v, %v", in.Quarantined, err)
	}
}

func TestInspectTellsLeftovers(t *testing.T) {
	dir := inspected(t)
	in, err := logstore.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	source := in.Segments[0].File
	kept, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	s, err := logstore.Open(dir, logstore.Options{MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(source, kept, 0o666); err != nil {
		t.Fatal(err)
	}
	if in, err = logstore.Inspect(dir); err != nil {
		t.Fatal(err)
	}
	for _, s := range in.Segments {
		if s.Leftover != (s.File == source) {
			t.Errorf("%+v", s)
		}
	}
}

// Inspect lists the deletions that Store.Deletions has, with the same figures, and none that
// was applied, though the log still has it.
func TestInspectDeletions(t *testing.T) {
	dir := inspected(t)
	open := func() *logstore.Store {
		s, err := logstore.Open(dir, logstore.Options{MinFree: 1})
		if err != nil {
			t.Fatal(err)
		}
		<-s.Ready()
		t.Cleanup(func() { s.Close() })
		return s
	}
	inspect := func() []logstore.PendingDeletion {
		t.Helper()
		in, err := logstore.Inspect(dir)
		if err != nil {
			t.Fatal(err)
		}
		return in.Deletions
	}
	s := open()
	web := logstore.Selector{{Name: "app", Op: logstore.Equal, Value: "web"}}
	for _, d := range []logstore.Deletion{
		{From: 1},                               // in all, and in memory
		{Selector: web, From: 100e9, To: 110e9}, // in one segment
		{Selector: web, From: 900e9, To: 901e9}, // in memory alone
		{Selector: logstore.Selector{{Name: "app", Op: logstore.Equal, Value: "other"}}}, // in memory, for all that is known
		{Tenant: "nobody", Selector: web},
	} {
		if _, err := s.Delete(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := inspect(), s.Deletions(); fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 5 || got[0].Segments != 3 || got[1].Segments != 1 {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := inspect(); len(got) != 0 || len(s.Deletions()) != 0 {
		t.Errorf("applied, and still listed: %+v", got)
	}
}

// A deletion stays pending, and listed, for a segment that is missing.
func TestInspectDeletionOfAMissingSegment(t *testing.T) {
	dir := inspected(t)
	in, err := logstore.Inspect(dir)
	if err == nil {
		err = os.Remove(in.Segments[1].File)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := logstore.Open(dir, logstore.Options{MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, from := range []int64{110e9, 200e9} { // of the one that is missing, and of another
		if _, err := s.Delete(t.Context(), logstore.Deletion{From: from, To: from + 1e9}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if in, err = logstore.Inspect(dir); err != nil || len(in.Deletions) != 1 || fmt.Sprint(in.Deletions) != fmt.Sprint(s.Deletions()) {
		t.Errorf("%+v, %v; want %+v", in.Deletions, err, s.Deletions())
	}
}

func TestInspectRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "nowhere")} {
		in, err := logstore.Inspect(path)
		if err == nil || errors.Is(err, fs.ErrNotExist) != (path != dir) {
			t.Errorf("%s: %+v, %v", path, in, err)
		}
		if _, again := logstore.Verify(t.Context(), path, nil); again == nil || again.Error() != err.Error() {
			t.Errorf("Verify: %v, and Inspect: %v", again, err)
		}
		if _, err := logstore.VerifySegment(t.Context(), filepath.Join(path, "a.seg"), nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("VerifySegment: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := logstore.Verify(ctx, inspected(t), nil); v != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", v, err)
	}
}

// A segment whose footer is damaged is inspected by its blocks.
func TestInspectByBlocks(t *testing.T) {
	in, err := logstore.Inspect(inspected(t))
	if err != nil {
		t.Fatal(err)
	}
	want := in.Segments[1]
	p, err := os.ReadFile(want.File)
	if err != nil {
		t.Fatal(err)
	}
	p[len(p)-20] ^= 1
	if err := os.WriteFile(want.File, p, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := logstore.InspectSegment(want.File)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// Blocks at the end of the file may be missing, for all that is known.
	if c, ok := errors.AsType[*logstore.CorruptError](s.Err); !ok || len(s.Lost) != 1 {
		t.Errorf("%v, lost %v", c, s.Lost)
	}
	if s.Rows != want.Rows || s.Raw != want.Raw || s.MinTime != want.MinTime || s.MaxTime != want.MaxTime || s.Streams != 2 || s.Blocks != 1 || s.After != want.After || s.Upto != want.Upto {
		t.Errorf("%+v, want %+v", s.SegmentInfo, want)
	}
	var rows int64
	for st, err := range s.EachStream() {
		if err != nil || st.Runs != 1 || st.Labels.Get("host") != "a" {
			t.Errorf("%+v, %v", st, err)
		}
		rows += st.Rows
	}
	for b, err := range s.EachBlock() {
		if err != nil || b.Rows != want.Rows || b.Bytes != want.BlockBytes || b.Offset == 0 {
			t.Errorf("%+v, %v", b, err)
		}
	}
	if rows != want.Rows {
		t.Errorf("%d entries, want %d", rows, want.Rows)
	}
}
