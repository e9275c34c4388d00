package logstore

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// The stores in testdata/v1 were written by the last program that wrote records
// and segments of version 1, and are not written again: see the README there.

var version1Start = time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC).UnixNano()

// version1Batch returns the batch number i of 6 that each of the stores has.
// The 400 streams have few lines each, late ones and ones with equal times,
// equal lines, metadata, bytes that are not UTF-8, an empty line and a long one.
func version1Batch(i int) Batch {
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	words := strings.Fields("GET POST /api/v1/users /health 200 404 500 timeout connected refused user=42 latency=12ms")
	var b Batch
	for n := range 400 {
		st := Stream{Labels: MustLabels("app", fmt.Sprintf("app-%02d", n%20), "host", fmt.Sprintf("host-%d", n/20), "env", []string{"prod", "test"}[n%2])}
		for j := range rng.IntN(8) {
			e := Entry{Time: version1Start + int64(i)*int64(time.Minute) + int64(rng.IntN(120)-20)*int64(time.Second)}
			for range 1 + rng.IntN(6) {
				e.Line = append(append(e.Line, words[rng.IntN(len(words))]...), ' ')
			}
			if rng.IntN(10) == 0 {
				e.Metadata = MustLabels("trace", fmt.Sprintf("%016x", rng.Uint64()))
			}
			if rng.IntN(25) == 0 {
				e.Line = []byte("caf\xe9 \xff\x00 \xf0\x28")
			}
			if j > 0 && rng.IntN(20) == 0 {
				e = st.Entries[j-1]
			}
			st.Entries = append(st.Entries, e)
		}
		if len(st.Entries) > 0 {
			b = append(b, st)
		}
	}
	b[0].Entries = append(b[0].Entries, Entry{Time: version1Start}, Entry{Time: version1Start, Line: bytes.Repeat([]byte("long "), 20_000)})
	return b
}

func version1Contents() (all []kept) {
	for i := range 6 {
		for _, st := range version1Batch(i) {
			for _, e := range st.Entries {
				all = append(all, kept{st.Labels.enc, e.Time, string(e.Line), e.Metadata.enc})
			}
		}
	}
	return all
}

func version1Options() Options {
	o := small()
	o.Clock = fixedClock(version1Start + int64(time.Hour))
	o.LateWindow = -1
	o.BackgroundRate = -1
	return o
}

// openVersion1 unpacks a store and opens it.
func openVersion1(t *testing.T, name string) (*Store, string) {
	t.Helper()
	dir := unpackStore(t, "v1", name)
	return openTest(t, dir, version1Options()), dir
}

// unpackStore unpacks a store of a version.
func unpackStore(t *testing.T, version, name string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), name)
	f, err := os.Open(filepath.Join("testdata", version, name+".tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			unpackOne(t, filepath.Join(dir, h.Name), r)
		}
	}
	return dir
}

func unpackOne(t *testing.T, path string, r io.Reader) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err == nil {
		_, err = io.Copy(f, r)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// queried returns all entries that a query finds, and the errors that it goes
// on after.
func queried(s *Store, o Order) (all []kept, damage []error) {
	for r, err := range s.Query(context.Background(), Query{Order: o}) {
		if err != nil {
			damage = append(damage, err)
			continue
		}
		all = append(all, kept{r.Labels.enc, r.Time, string(r.Line), r.Metadata.enc})
	}
	return all, damage
}

// oldestVersion returns the lowest version of a segment.
func oldestVersion(t *testing.T, s *Store) uint32 {
	t.Helper()
	v, err := s.acquire()
	mustDo(t, err)
	defer v.release()
	lowest := uint32(math.MaxUint32)
	for seg := range v.segs.Segments() {
		lowest = min(lowest, seg.Info().Version)
	}
	return lowest
}

func TestVersion1Stores(t *testing.T) {
	want := counted(version1Contents())
	for _, name := range []string{"sealed", "merged", "unsealed"} {
		t.Run(name, func(t *testing.T) {
			s, _ := openVersion1(t, name)
			for _, step := range []string{"opened", "sealed", "compacted"} {
				switch step {
				case "sealed":
					if err := s.Seal(t.Context()); err != nil {
						t.Fatal(err)
					}
				case "compacted":
					if err := s.Compact(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				forward, errs := queried(s, Forward)
				backward, errs2 := queried(s, Backward)
				if len(errs)+len(errs2) > 0 {
					t.Fatal(step, errs, errs2)
				}
				if v := oldestVersion(t, s); step == "compacted" && v == 1 {
					t.Error("Compact left a segment of version 1")
				}
				sameCounts(t, step+", forward", counted(forward), want)
				sameCounts(t, step+", backward", counted(backward), want)
				for i := range forward {
					if b := backward[len(backward)-1-i]; b != forward[i] {
						t.Fatalf("%s: entry %d forward is %v, backward %v", step, i, forward[i], b)
					}
				}
			}
		})
	}
}

// In damaged, one byte of a block of a segment is flipped. All but the entries
// of that block are found, before and after the segment has been salvaged.
func TestVersion1Damaged(t *testing.T) {
	s, _ := openVersion1(t, "damaged")
	want := counted(version1Contents())
	got, errs := queried(s, Forward)
	// No error if a compaction in the background has met the damage first.
	if len(errs) > 1 {
		t.Fatalf("%d errors, want one: %v", len(errs), errs)
	}
	for _, err := range errs {
		if _, ok := errors.AsType[*CorruptError](err); !ok {
			t.Fatal(err)
		}
	}
	lost := len(version1Contents()) - len(got)
	for k, n := range counted(got) {
		if n > want[k] {
			t.Fatalf("%d times %v, which was appended %d times", n, k, want[k])
		}
	}
	if lost <= 0 || lost > len(version1Contents())/4 {
		t.Fatalf("%d of %d entries are lost", lost, len(version1Contents()))
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, errs := queried(s, Forward)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	sameCounts(t, "salvaged", counted(after), counted(got))
	if st := s.Stats(); st.LostEntries != int64(lost) {
		t.Fatalf("the statistics say that %d entries are lost, want %d", st.LostEntries, lost)
	}
}
