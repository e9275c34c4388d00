package logstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
)

// A closedStore is a store that no process has open: 30 batches, of which each ten
// are a segment or, the last, only in the log.
type closedStore struct {
	dir     string
	batches []map[kept]int
}

// doorsBatch returns a batch, with metadata and a stream of its own, and its entries.
func doorsBatch(i int) (Batch, map[kept]int) {
	var b Batch
	want := map[kept]int{}
	for n := range 3 {
		st := Stream{Labels: MustLabels("app", "api", "host", fmt.Sprint(n))}
		if n == 2 {
			st.Labels = MustLabels("batch", fmt.Sprint(i))
		}
		for j := range 40 {
			e := Entry{Time: int64(i*1000 + j), Line: fmt.Appendf(nil, "line %d of batch %d needle%d", j, i, i), Metadata: MustLabels("n", fmt.Sprint(j%3))}
			st.Entries = append(st.Entries, e)
			want[kept{st.Labels.enc, e.Time, string(e.Line), e.Metadata.enc}]++
		}
		b = append(b, st)
	}
	return b, want
}

func newClosedStore(t *testing.T) closedStore {
	t.Helper()
	c := closedStore{dir: filepath.Join(t.TempDir(), "store")}
	s := openTest(t, c.dir, anyTime())
	for i := range 30 {
		b, want := doorsBatch(i)
		mustAppend(t, s, b)
		c.batches = append(c.batches, want)
		if i%10 == 9 && i < 29 {
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(c.segments(t)); n != 2 {
		t.Fatalf("%d segments, not 2", n)
	}
	return c
}

func (c closedStore) segments(t *testing.T) []string {
	t.Helper()
	files, err := segmentFiles(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// all returns the entries of the batches, but for those left out.
func (c closedStore) all(without ...int) map[kept]int {
	all := map[kept]int{}
	for i, b := range c.batches {
		if !slices.Contains(without, i) {
			maps.Copy(all, b)
		}
	}
	return all
}

func (c closedStore) log() string { return filepath.Join(c.dir, logDir) }

// record returns the file and the offset of the n-th record from the end of the log.
func (c closedStore) record(t *testing.T, n int) (file string, offset int64) {
	t.Helper()
	in, err := wal.Inspect(c.log())
	if err != nil {
		t.Fatal(err)
	}
	var list []wal.RecordInfo
	for rec, err := range in.Records(0) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Type == "data" {
			rec.Data = nil
			list = append(list, rec)
		}
	}
	rec := list[len(list)-n]
	return filepath.Join(c.log(), fmt.Sprintf("%016x.wal", rec.Segment)), rec.Offset
}

func flipByte(t *testing.T, file string, at int64) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += int64(len(data))
	}
	data[at] ^= 0x40
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// readThrough returns all entries by the public API, the errors between them, and
// the last error.
func readThrough(s *Store, q Query) (got map[kept]int, damage []error, last error) {
	got = map[kept]int{}
	for r, err := range s.Query(context.Background(), q) {
		if last != nil {
			damage = append(damage, last)
		}
		if last = err; err == nil {
			got[kept{r.Labels.enc, r.Time, string(r.Line), r.Metadata.enc}]++
		}
	}
	if _, ok := errors.AsType[*CorruptError](last); ok && !errors.Is(last, ErrIncomplete) {
		return got, append(damage, last), nil
	}
	return got, damage, last
}

// tree returns what is in a directory: names, sizes, contents, times of change.
func tree(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprint(path, fi.Mode(), fi.ModTime())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		list = append(list, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func mustOpenReadOnly(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := OpenReadOnly(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestOpenReadOnly(t *testing.T) {
	c := newClosedStore(t)
	before := tree(t, c.dir)
	s := mustOpenReadOnly(t, c.dir, small())
	got, damage, last := readThrough(s, Query{})
	sameCounts(t, "read only", got, c.all())
	if len(damage) > 0 || last != nil {
		t.Errorf("errors %v, and last %v", damage, last)
	}
	got, _, _ = readThrough(s, Query{Selector: Selector{{Name: "batch", Op: Equal, Value: "25"}}, Filter: Contains("needle25"), Order: Backward})
	if len(got) != 40 {
		t.Errorf("%d entries of a stream that only the log has", len(got))
	}
	counts, err := s.Count(t.Context(), Query{}, 0)
	sum := int64(0)
	for _, n := range counts {
		sum += n.Buckets[0].Entries
	}
	if err != nil || sum != 30*120 {
		t.Errorf("Count: %d, %v", sum, err)
	}
	if values, err := s.LabelValues(t.Context(), "host", Query{}); err != nil || !slices.Equal(values, []string{"0", "1"}) {
		t.Errorf("LabelValues: %v, %v", values, err)
	}
	if r := s.Report().String(); r != "" {
		t.Errorf("Report: %s", r)
	}
	select {
	case <-s.Ready():
	default:
		t.Error("not ready")
	}
	if st := s.Stats(); st.Segments != 2 || st.Replayed < 10 || st.MemoryEntries != 1200 || st.LogNext-st.LogFirst < 10 {
		t.Errorf("Stats: %+v", st)
	}
	b, _ := doorsBatch(1)
	for what, err := range map[string]error{"Append": s.Append(t.Context(), b), "Seal": s.Seal(t.Context()), "Compact": s.Compact(t.Context())} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, err := range s.Tail(t.Context(), Query{}) {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("Tail: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, _, last := readThrough(s, Query{}); !errors.Is(last, ErrClosed) {
		t.Errorf("a query after Close: %v", last)
	}
	if after := tree(t, c.dir); !slices.Equal(before, after) {
		t.Errorf("the store has changed:\n%s\nnow\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

// Whatever is damaged, OpenReadOnly serves the rest, says that something is missing,
// and changes nothing.
func TestOpenReadOnlyDamaged(t *testing.T) {
	ten := func(from int) (list []int) {
		for i := range 10 {
			list = append(list, from+i)
		}
		return list
	}
	remove := func(t *testing.T, path string) {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []struct {
		name   string
		damage func(t *testing.T, c closedStore)
		lost   []int // batches
		// The last error of a query: ErrIncomplete, and the kind of an event.
		incomplete bool
		event      EventKind
		some       bool // some of the entries of lost batches may be there
		missing    bool // a segment is missing too
	}{
		{"a record of the log", func(t *testing.T, c closedStore) {
			file, off := c.record(t, 5)
			flipByte(t, file, off+100)
		}, []int{25}, true, EventLogDamage, false, false},
		{"the log's META", func(t *testing.T, c closedStore) { remove(t, filepath.Join(c.log(), "META")) }, nil, true, EventLogDamage, false, false},
		{"the log", func(t *testing.T, c closedStore) { remove(t, c.log()) }, ten(20), true, EventLogDamage, false, false},
		{"a log file", func(t *testing.T, c closedStore) {
			file, _ := c.record(t, 1)
			remove(t, file)
		}, ten(20), true, EventLogDamage, false, false},
		{"the directory of segments", func(t *testing.T, c closedStore) { remove(t, filepath.Join(c.dir, catalog.SegmentDir)) }, append(ten(0), ten(10)...), true, EventMissing, true, false},
		{"a segment", func(t *testing.T, c closedStore) { remove(t, c.segments(t)[1]) }, ten(10), true, EventMissing, true, false},
		{"a block of a segment", func(t *testing.T, c closedStore) { flipByte(t, c.segments(t)[0], 200) }, ten(0), false, 0, true, false},
		{"the end of a segment", func(t *testing.T, c closedStore) { flipByte(t, c.segments(t)[0], -8) }, nil, false, EventSalvage, false, false},
		{"all of a segment", func(t *testing.T, c closedStore) {
			if err := os.WriteFile(c.segments(t)[0], bytes.Repeat([]byte("x"), 1<<16), 0o644); err != nil {
				t.Fatal(err)
			}
		}, ten(0), true, EventDamage, false, false},
		{"a segment that is a directory", func(t *testing.T, c closedStore) {
			file := c.segments(t)[0]
			remove(t, file)
			if err := os.Mkdir(file, 0o755); err != nil {
				t.Fatal(err)
			}
		}, ten(0), true, EventDamage, false, false},
		{"the name of a segment", func(t *testing.T, c closedStore) {
			file := c.segments(t)[1]
			if err := os.Rename(file, filepath.Join(filepath.Dir(file), "0000000000001000-0000000000002000-00000000.seg")); err != nil {
				t.Fatal(err)
			}
		}, ten(10), true, EventDamage, true, true},
	} {
		t.Run(d.name, func(t *testing.T) {
			c := newClosedStore(t)
			d.damage(t, c)
			before := tree(t, c.dir)
			s := mustOpenReadOnly(t, c.dir, small())
			for _, q := range []Query{{}, {Order: Backward, Filter: Contains("line")}} {
				got, damage, last := readThrough(s, q)
				want := c.all(d.lost...)
				if d.some {
					maps.DeleteFunc(got, func(k kept, n int) bool { return want[k] == 0 && n == 1 && c.all()[k] == 1 })
				}
				sameCounts(t, d.name, got, want)
				if errors.Is(last, ErrIncomplete) != d.incomplete || !d.incomplete && last != nil {
					t.Errorf("last error %v, damage %v", last, damage)
				}
			}
			_, err := s.Count(t.Context(), Query{}, 0)
			if d.incomplete != errors.Is(err, ErrIncomplete) {
				t.Errorf("Count: %v", err)
			}
			r := s.Report()
			if d.event != 0 && !slices.ContainsFunc(r.Events, func(e Event) bool { return e.Kind == d.event && strings.HasPrefix(e.File, c.dir) }) {
				t.Errorf("Report: %v", r)
			}
			if n := len(losses(r)); n > 0 != (d.event == EventMissing || d.missing) {
				t.Errorf("%d are told as missing: %v", n, r)
			}
			damage := 0
			for _, e := range r.Events {
				if e.Kind == EventDamage {
					damage++
				}
			}
			if damage > 1 {
				t.Errorf("told %d times: %v", damage, r)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if after := tree(t, c.dir); !slices.Equal(before, after) {
				t.Errorf("the store has changed:\n%s\nnow\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
		})
	}
}

func TestOpenReadOnlyRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenReadOnly(dir, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := OpenReadOnly(filepath.Join(dir, "none"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := OpenReadOnly(dir, Options{Memory: 1}); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("wrong options: %v", err)
	}
	s := openTest(t, dir, small())
	if _, err := OpenReadOnly(dir, small()); !errors.Is(err, ErrLocked) {
		t.Errorf("a store that is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := mustOpenReadOnly(t, dir, small())
	again := openTest(t, dir, small()) // reading takes no lock
	mustAppend(t, again, one(MustLabels("a", "b"), time.Now().UnixNano(), "x"))
	if got, damage, last := readThrough(r, Query{}); len(got) != 0 || len(damage) > 0 || last != nil {
		t.Errorf("an empty store has %v, %v, %v", got, damage, last)
	}
}

// Records beyond a pair of memtables are kept compressed, up to a limit.
func TestOpenReadOnlyLongLog(t *testing.T) {
	const batches, each = 60, 400
	for _, random := range []bool{false, true} {
		dir, o := t.TempDir(), anyTime()
		o.Memory = 256 << 20
		s := openTest(t, dir, o)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range batches {
			st := Stream{Labels: MustLabels("app", "x")}
			for j := range each {
				line := bytes.Repeat([]byte("abcdefgh"), 125)
				if random {
					for k := range line {
						line[k] = byte(rng.Uint32())
					}
				}
				st.Entries = append(st.Entries, Entry{Time: int64(i*each + j), Line: line})
			}
			mustAppend(t, s, Batch{st})
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := OpenReadOnly(dir, small())
		if random {
			if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "Options.Memory") {
				t.Errorf("24 MB of noise in a store of 32 MiB: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		counts, err := r.Count(t.Context(), Query{}, 0)
		if err != nil || len(counts) != 1 || counts[0].Buckets[0].Entries != batches*each {
			t.Errorf("%v, %v", counts, err)
		}
		if st := r.Stats(); st.Segments == 0 || st.MemoryUsed > st.MemoryLimit {
			t.Errorf("%+v", st)
		}
	}
}

func TestOpenSegments(t *testing.T) {
	c := newClosedStore(t)
	files := c.segments(t)
	other := newClosedStore(t) // whose segments have the same positions
	lone := filepath.Join(t.TempDir(), "lone file")
	data, err := os.ReadFile(other.segments(t)[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lone, data, 0o400); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSegments(small(), files[0], lone)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, damage, last := readThrough(s, Query{})
	sameCounts(t, "lone segments", got, c.all(20, 21, 22, 23, 24, 25, 26, 27, 28, 29))
	if len(damage) > 0 || last != nil {
		t.Errorf("errors %v, and last %v", damage, last)
	}
	twice, err := OpenSegments(small(), files[0], files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer twice.Close()
	if counts, err := twice.Count(t.Context(), Query{}, 0); err != nil || counts[0].Buckets[0].Entries != 2*400 {
		t.Errorf("a file that is named twice: %+v, %v", counts[0], err)
	}
	if err := twice.Append(t.Context(), one(MustLabels("a", "b"), 1, "x")); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
}

func TestOpenSegmentsDamaged(t *testing.T) {
	c := newClosedStore(t)
	files := c.segments(t)
	flipByte(t, files[0], -8)
	s, err := OpenSegments(small(), files...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, damage, last := readThrough(s, Query{})
	sameCounts(t, "a damaged end", got, c.all(20, 21, 22, 23, 24, 25, 26, 27, 28, 29))
	if len(damage) > 0 || last != nil || len(s.Report().Events) == 0 {
		t.Errorf("errors %v, last %v, report %v", damage, last, s.Report())
	}
	none := filepath.Join(t.TempDir(), "README")
	if err := os.WriteFile(none, []byte("no segment"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err = OpenSegments(small(), files[1], none)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, _, last := readThrough(s, Query{}); len(got) != 1200 || !errors.Is(last, ErrIncomplete) || !strings.Contains(last.Error(), none) {
		t.Errorf("%d entries, last error %v", len(got), last)
	}
	if _, err := OpenSegments(small(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	if _, err := OpenSegments(small()); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("no files: %v", err)
	}
}

// Stores and segments of version 1 are read too.
func TestOpenReadOnlyVersion1(t *testing.T) {
	want := counted(version1Contents())
	for _, name := range []string{"sealed", "merged", "unsealed"} {
		dir := unpackStore(t, "v1", name)
		s := mustOpenReadOnly(t, dir, small())
		got, damage, last := readThrough(s, Query{})
		sameCounts(t, name, got, want)
		if len(damage) > 0 || last != nil {
			t.Errorf("%s: errors %v, and last %v", name, damage, last)
		}
	}
}
