package logstore

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A mixedStore is a store with files of another store, or with old ones.
type mixedStore struct {
	t   *testing.T
	dir string
	n   int
}

// live opens a store and takes steps: a digit appends as many lines, S seals, and C
// compacts. Lines have the name of the life.
func (m *mixedStore) live(dir, name, steps string) {
	m.t.Helper()
	s := openTest(m.t, dir, small())
	for _, step := range steps {
		switch step {
		case 'S':
			m.must(s.Seal(m.t.Context()))
		case 'C':
			m.must(s.Compact(m.t.Context()))
		default:
			for range step - '0' {
				m.n++
				mustAppend(m.t, s, one(MustLabels("a", "b"), int64(m.n), fmt.Sprint(name, " ", m.n)))
			}
		}
	}
	m.must(s.Close())
}

func (m *mixedStore) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// other returns the directory of another store.
func (m *mixedStore) other(steps string) string {
	dir := m.t.TempDir()
	m.live(dir, "other", steps)
	return dir
}

// takeSegment copies the i-th segment of a store, from the end if i is negative, under
// its name or, unless it is "", another one.
func (m *mixedStore) takeSegment(from string, i int, name string) {
	m.t.Helper()
	files := segmentPaths(m.t, from)
	if i < 0 {
		i += len(files)
	}
	if name == "" {
		name = filepath.Base(files[i])
	}
	copyFile(m.t, filepath.Join(m.dir, catalog.SegmentDir, name), files[i])
}

// takeLog puts the log of another store in the place of this one.
func (m *mixedStore) takeLog(from string) {
	m.t.Helper()
	log := filepath.Join(m.dir, logDir)
	m.must(os.RemoveAll(log))
	m.must(os.CopyFS(log, os.DirFS(filepath.Join(from, logDir))))
}

// repairWithout repairs the store without its log, and returns a copy of it as it was.
func (m *mixedStore) repairWithout() (before string) {
	m.t.Helper()
	before = filepath.Join(m.t.TempDir(), "before")
	m.must(os.CopyFS(before, os.DirFS(m.dir)))
	m.must(os.RemoveAll(filepath.Join(m.dir, logDir)))
	_, err := Repair(m.t.Context(), m.dir, RepairOptions{})
	m.must(err)
	m.must(os.RemoveAll(filepath.Join(m.dir, catalog.QuarantineDir)))
	return before
}

// snapshot returns a snapshot of the store.
func (m *mixedStore) snapshot() string {
	m.t.Helper()
	to := filepath.Join(m.t.TempDir(), "snapshot")
	s := openTest(m.t, m.dir, small())
	_, err := s.Snapshot(m.t.Context(), to)
	m.must(err)
	m.must(s.Close())
	return to
}

// provenanceCases say of each mixture which lives have how many lines at which door.
var provenanceCases = []struct {
	name string
	make func(m *mixedStore)
	// refused is a part of the error of Open, "" if it opens the store.
	refused string
	// Lines that are served, and those of files of the store that are not: "own 3".
	readOnly, served, aside string
	incomplete              bool // so a query of OpenReadOnly ends
	missing                 int  // segments, which Open tells
	logKept                 bool // by Repair
}{
	{
		name:    "a log alone, and a segment of another store",
		make:    func(m *mixedStore) { m.live(m.dir, "own", "3"); m.takeSegment(m.other("5S"), 0, "") },
		refused: "wal is not the log of these segments", logKept: true,
		readOnly: "own 3", incomplete: true, served: "own 3", aside: "other 5",
	},
	{
		name:     "a segment of another store, above the segments and in the log",
		make:     func(m *mixedStore) { m.live(m.dir, "own", "2S4"); m.takeSegment(m.other("1S6S"), -1, "") },
		readOnly: "own 6", incomplete: true, served: "own 6", aside: "other 6",
	},
	{
		name:     "a segment of another store, above the log",
		make:     func(m *mixedStore) { m.live(m.dir, "own", "2S4"); m.takeSegment(m.other("9S9S5S"), -1, "") },
		readOnly: "own 6", incomplete: true, served: "own 6", aside: "other 5",
	},
	{
		name: "a segment of another store in the place of one",
		make: func(m *mixedStore) {
			m.live(m.dir, "own", "3S3S3S2")
			m.takeSegment(m.other("3S3S"), 1, "")
		},
		readOnly: "own 8", incomplete: true, served: "own 8", aside: "other 3", missing: 1,
	},
	{
		name: "a segment of another store under the name of one",
		make: func(m *mixedStore) {
			m.live(m.dir, "own", "3S3S3S2")
			m.takeSegment(m.other("9S"), 0, filepath.Base(segmentPaths(m.t, m.dir)[1]))
		},
		readOnly: "own 8", incomplete: true, served: "own 8", aside: "other 9", missing: 1,
	},
	{
		name: "a segment of another store below all",
		make: func(m *mixedStore) {
			m.live(m.dir, "own", "3S3S3S2")
			m.must(os.Remove(segmentPaths(m.t, m.dir)[0]))
			dropRoster(m.t, m.dir)
			acceptGaps(m.t, m.dir)
			m.takeSegment(m.other("3S"), 0, "")
		},
		readOnly: "own 6 other 3", served: "own 6 other 3",
	},
	{
		name:    "the log of another store, with positions of the segments",
		make:    func(m *mixedStore) { m.live(m.dir, "own", "3S3S2"); m.takeLog(m.other("99")) },
		refused: "wal is not the log of these segments", logKept: true,
		readOnly: "other 18", incomplete: true, served: "other 18", aside: "own 6",
	},
	{
		name:    "the log of another store, behind the segments",
		make:    func(m *mixedStore) { m.live(m.dir, "own", "3S3S2"); m.takeLog(m.other("99S4")) },
		refused: "wal is not the log of these segments", logKept: true,
		readOnly: "own 6 other 4", incomplete: true, served: "other 4", aside: "own 6", missing: 1,
	},
	{
		name:     "the log of another store, with nothing in it",
		make:     func(m *mixedStore) { m.live(m.dir, "own", "3S3S"); m.takeLog(m.other("")) },
		refused:  "wal is not the log of these segments",
		readOnly: "own 6", incomplete: true, served: "own 6",
	},
	{
		name: "the old log, after a repair",
		make: func(m *mixedStore) {
			m.live(m.dir, "own", "1S5")
			old := m.repairWithout()
			m.live(m.dir, "later", "2S")
			m.takeLog(old)
		},
		refused: "is not the log that", logKept: true,
		readOnly: "own 6", incomplete: true, served: "own 6", aside: "later 2",
	},
	{
		name: "the old log, after a repair and a compaction",
		make: func(m *mixedStore) {
			m.live(m.dir, "own", "1S9")
			old := m.repairWithout()
			m.live(m.dir, "later", "2S1SC")
			m.takeLog(old)
		},
		refused: "is not the log that", logKept: true,
		readOnly: "own 9", incomplete: true, served: "own 9", aside: "own 1 later 3", missing: 1,
	},
	{
		name: "the log of a snapshot that went on apart",
		make: func(m *mixedStore) {
			m.live(m.dir, "own", "3S2")
			apart := m.snapshot()
			m.live(apart, "apart", "9")
			m.live(m.dir, "later", "4S")
			m.takeLog(apart)
		},
		refused: "is not the log that", logKept: true,
		readOnly: "own 5 apart 9", incomplete: true, served: "own 5 apart 9", aside: "own 2 later 4",
	},
	{
		name: "the log of a snapshot that went on apart and has sealed",
		make: func(m *mixedStore) {
			m.live(m.dir, "own", "3S2")
			apart := m.snapshot()
			m.live(apart, "apart", "9S")
			m.live(m.dir, "later", "4S")
			m.takeLog(apart)
		},
		refused: "is not the log that", logKept: true,
		readOnly: "own 3", incomplete: true, served: "own 3", aside: "own 2 later 4", missing: 1,
	},
	{
		name: "a segment of a snapshot that went on apart, beside one with its positions",
		make: func(m *mixedStore) {
			m.live(m.dir, "own", "3S2")
			apart := m.snapshot()
			m.live(apart, "apart", "9S")
			m.live(m.dir, "later", "4S")
			m.takeSegment(apart, -1, "")
		},
		readOnly: "own 5 later 4", incomplete: true, served: "own 5 later 4", aside: "own 2 apart 9",
	},
	{
		name: "a compacted segment of a snapshot that went on apart",
		make: func(m *mixedStore) {
			m.live(m.dir, "own", "3S2")
			apart := m.snapshot()
			m.live(apart, "apart", "4S1SC")
			m.live(m.dir, "later", "4S3S9S2")
			m.takeSegment(apart, -1, "")
		},
		readOnly: "own 5 later 18", incomplete: true, served: "own 5 later 18", aside: "own 5 apart 5",
	},
	{
		name: "a segment of a snapshot that went on apart",
		make: func(m *mixedStore) {
			m.live(m.dir, "own", "3S2")
			apart := m.snapshot()
			m.live(apart, "apart", "4S")
			m.live(m.dir, "later", "9")
			m.takeSegment(apart, -1, "")
		},
		refused: "is not the log that", logKept: true,
		readOnly: "own 5 later 9", incomplete: true, served: "own 5 later 9", aside: "own 2 apart 4",
	},
}

// Whatever is mixed up, each line that was in a file is served, or its file is in
// quarantine and told; no door takes a file of another store for one of this one.
func TestProvenance(t *testing.T) {
	for _, c := range provenanceCases {
		t.Run(c.name, func(t *testing.T) {
			m := &mixedStore{t: t, dir: filepath.Join(t.TempDir(), "store")}
			c.make(m)
			dir := m.dir
			before := tree(t, dir)

			r, err := OpenReadOnly(dir, small())
			m.must(err)
			lines, err := tallyThrough(t, r)
			if lines != c.readOnly || errors.Is(err, ErrIncomplete) != c.incomplete || !c.incomplete && err != nil {
				t.Errorf("OpenReadOnly has %q, %v; want %q", lines, err, c.readOnly)
			}
			told := r.Report()
			if (c.aside != "" || c.refused != "") && !slices.ContainsFunc(told.Events, func(e Event) bool { return e.Kind == EventOtherLog || e.Kind == EventDamage }) {
				t.Errorf("OpenReadOnly tells nothing: %v", told)
			}
			if n := missed(told); n != c.missing {
				t.Errorf("OpenReadOnly tells that %d are missing: %v", n, told)
			}
			m.must(r.Close())

			v, err := Verify(t.Context(), dir, nil)
			if wrong := err != nil; wrong != (c.refused != "" || c.aside != "" || c.missing > 0) {
				t.Errorf("Verify: %v", err)
			}
			if n := len(v.Missing); n != c.missing {
				t.Errorf("Verify: %d are missing: %v", n, v.Missing)
			}
			p, err := PlanRepair(t.Context(), dir, RepairOptions{})
			m.must(err)
			if (p.Refused != nil) != (c.refused != "") || p.LogKept != c.logKept || len(p.Missing) != c.missing {
				t.Errorf("PlanRepair: %+v", p)
			}
			if c.refused != "" && (v.LogErr == nil || !strings.Contains(v.LogErr.Error(), c.refused) || !strings.Contains(p.Refused.Error(), c.refused)) {
				t.Errorf("Verify: %v, and PlanRepair %v; want %q", v.LogErr, p.Refused, c.refused)
			}
			if a, b := asideOf(v.OtherLog), asideOf(p.OtherLog); p.LogKept && a > b || !p.LogKept && a != b || p.Refused != nil && b != sumOfTally(c.aside) {
				t.Errorf("not served: Verify tells %d entries, PlanRepair %d; want %q", a, b, c.aside)
			}
			if after := tree(t, dir); !slices.Equal(before, after) {
				t.Errorf("the files are %q; want %q", after, before)
			}

			if c.refused != "" {
				if s, err := Open(dir, small()); err == nil || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "nothing was changed") {
					t.Fatalf("Open: %v, %v", s, err)
				}
				p, err := Repair(t.Context(), dir, RepairOptions{})
				m.must(err)
				for _, o := range p.OtherLog {
					if _, err := os.Stat(o.Quarantine); !o.Served && err != nil {
						t.Error(err)
					}
				}
			}
			all := map[kept]int{} // the entries of both, each once
			for round := range 2 {
				s := openTest(t, dir, small())
				served, _, _ := readThrough(s, Query{})
				maps.Copy(all, served)
				if lines, err := tallyThrough(t, s); lines != c.served || err != nil {
					t.Errorf("Open has %q, %v; want %q", lines, err, c.served)
				}
				told := s.Report()
				if n := missed(told); n != c.missing {
					t.Errorf("Open tells that %d are missing: %v", n, told)
				}
				quarantined := slices.ContainsFunc(told.Events, func(e Event) bool { return e.Kind == EventQuarantine })
				if quarantined != (c.aside != "" && c.refused == "" && round == 0) {
					t.Errorf("Open, round %d: %v", round, told)
				}
				m.must(s.Close())
			}
			aside := ""
			if files, _ := filepath.Glob(filepath.Join(dir, catalog.QuarantineDir, "*.seg")); len(files) > 0 {
				q, err := OpenSegments(small(), files...)
				m.must(err)
				aside, err = tallyThrough(t, q)
				there, _, _ := readThrough(q, Query{})
				for k := range there {
					all[k] = 1
				}
				m.must(errors.Join(err, q.Close()))
				for _, file := range files {
					if _, err := os.Stat(strings.TrimSuffix(file, catalog.SegmentSuffix) + catalog.ReportSuffix); err != nil {
						t.Error(err)
					}
				}
			}
			if aside != c.aside {
				t.Errorf("in quarantine is %q; want %q", aside, c.aside)
			}
			if c.aside == "" {
				return
			}
			_, err = Import(t.Context(), dir, ImportOptions{store: small()}, filepath.Join(dir, catalog.QuarantineDir))
			m.must(err)
			s := openTest(t, dir, small())
			// What was before they parted is not there twice.
			if lines, err := tallyThrough(t, s); err != nil {
				t.Error(err)
			} else if got, _, _ := readThrough(s, Query{}); !maps.Equal(got, all) {
				t.Errorf("after the import there is %q: %d entries; want %d", lines, len(got), len(all))
			}
			m.must(s.Close())
		})
	}
}

// missed counts the segments that a report tells as missing.
func missed(r Report) (n int) {
	for _, e := range r.Events {
		if e.Kind == EventMissing {
			n++
		}
	}
	return n
}

// asideOf counts the entries of segments that are not served.
func asideOf(list []*OtherLogError) (n int) {
	for _, o := range list {
		if !o.Served {
			n += int(o.Entries)
		}
	}
	return n
}

var lives = []string{"own", "apart", "later", "other"}

// tallyThrough counts the lines of each life that a query finds, as "own 3 later 1", and
// returns its last error.
func tallyThrough(t *testing.T, s *Store) (string, error) {
	t.Helper()
	got, damage, last := readThrough(s, Query{})
	if len(damage) > 0 {
		t.Error(damage)
	}
	n := map[string]int{}
	for k, times := range got {
		life, _, _ := strings.Cut(k.line, " ")
		n[life] += times
	}
	var list []string
	for _, life := range lives {
		if n[life] > 0 {
			list = append(list, fmt.Sprint(life, " ", n[life]))
		}
	}
	return strings.Join(list, " "), last
}

func sumOfTally(tally string) (sum int) {
	for _, word := range strings.Fields(tally) {
		n := 0
		fmt.Sscan(word, &n)
		sum += n
	}
	return sum
}

// Nothing that a store does itself, or a crash or a repair leaves, makes a segment of its
// own one that is not.
func TestProvenanceOfOwn(t *testing.T) {
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 1))
	dir, n := t.TempDir(), 10 // a deletion begins before it
	s := openTest(t, dir, anyTime())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 60 {
		switch r.IntN(12) {
		default:
			for range 1 + r.IntN(4) {
				n++
				mustAppend(t, s, one(MustLabels("a", "b"), int64(n), fmt.Sprint("line ", n)))
			}
			continue
		case 0, 1, 2:
			must(s.Seal(t.Context()))
			continue
		case 3:
			must(s.Compact(t.Context()))
			continue
		case 4:
			_, err := s.Delete(t.Context(), Deletion{From: int64(n - 3), To: int64(n)})
			must(err)
			continue
		case 5:
			must(s.Close())
		case 6, 7:
			killed := copyStore(t, dir)
			must(s.Close())
			dir = killed
		case 8:
			to := filepath.Join(t.TempDir(), "snapshot")
			_, err := s.Snapshot(t.Context(), to)
			must(errors.Join(err, s.Close()))
			dir = to
		case 9:
			must(s.Close())
			if len(segmentPaths(t, dir)) > 0 && r.IntN(2) == 0 {
				must(os.RemoveAll(filepath.Join(dir, logDir)))
				_, err := Repair(t.Context(), dir, RepairOptions{})
				must(err)
			}
		}
		v, err := Verify(t.Context(), dir, nil)
		if m, ok := errors.AsType[*MissingError](err); ok && m.File == "" {
			err = nil // a deletion took a segment, and the log that said so is lost
		}
		if err != nil || len(v.OtherLog) > 0 {
			t.Fatalf("Verify: %+v, %v", v, err)
		}
		read := mustOpenReadOnly(t, dir, small())
		if _, _, err := readThrough(read, Query{}); err != nil {
			t.Fatalf("OpenReadOnly: %v, %v", err, read.Report())
		}
		must(read.Close())
		s = openTest(t, dir, anyTime())
		for _, e := range s.Report().Events {
			if e.Kind != EventGap && e.Kind != EventLeftover && e.Kind != EventUndeleted && e.Kind != EventClockAhead {
				t.Fatalf("Open tells %v", e)
			}
		}
	}
}
