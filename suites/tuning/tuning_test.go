package tuning

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/newfile"
	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/internal/suitetest"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/wal"
)

// The settings of a choice promise the same, and a block finds its experiment.
func TestTuningIsFair(t *testing.T) {
	known := map[string]bool{}
	for _, e := range Experiments() {
		if known[e.ID()] {
			t.Errorf("two experiments are named %s", e.ID())
		}
		known[e.ID()] = true
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
		for _, v := range e.Variants {
			if v.Promise != e.Variants[0].Promise {
				t.Errorf("%s: %s promises %v, %s %v", e.ID(), v.Name, v.Promise, e.Variants[0].Name, e.Variants[0].Promise)
			}
		}
	}
	for _, n := range append(Appenders(), 0) {
		for _, c := range Choices(n) {
			if c.knee != (len(c.Loads) == 1 && c.Loads[0].experiment.Variants[0].Cell != nil) {
				t.Errorf("%s: a knee is one surface", c.Field)
			}
			for _, e := range c.Experiments() {
				if !known[e.ID()] {
					t.Errorf("%d appenders: no block knows %s", n, e.ID())
				}
			}
			if c.Field == "wal.max_delay" && n != 0 && (len(c.Loads) != 1 || c.Loads[0].Name != units.Count(n, "appender")+", records of 1 KiB") {
				t.Errorf("%d appenders: %v", n, c.Loads)
			}
		}
	}
}

// Every setting changes the fields that it names, and its package accepts them.
func TestTuningSettings(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, 2*datafile.MiB), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range Choices(0) {
		for i, s := range c.Settings {
			if s.set == nil {
				if i > 0 || c.knee {
					t.Errorf("%s: %s sets nothing", c.Field, s.Name)
				}
				continue
			}
			p := new(profile.Profile)
			s.set(p)
			for _, field := range fieldsOf(t, p) {
				if !strings.Contains(s.Says, strings.TrimSuffix(field, "_ns")+" ") {
					t.Errorf("%s: %s sets %s and says %q", c.Field, s.Name, field, s.Says)
				}
			}
			if len(fieldsOf(t, p)) != strings.Count(s.Says, ", ")+1 {
				t.Errorf("%s: %s sets %v and says %q", c.Field, s.Name, fieldsOf(t, p), s.Says)
			}
			accepts(t, name, c.Field+": "+s.Name, p)
		}
	}
}

// fieldsOf names the fields of a profile that are set: "wal.sync".
func fieldsOf(t *testing.T, p *profile.Profile) (set []string) {
	t.Helper()
	var b bytes.Buffer
	if err := p.Encode(&b); err != nil {
		t.Fatal(err)
	}
	var parts map[string]any
	if err := json.Unmarshal(b.Bytes(), &parts); err != nil {
		t.Fatal(err)
	}
	for part, fields := range parts {
		if fields, ok := fields.(map[string]any); ok {
			for field := range fields {
				set = append(set, part+"."+field)
			}
		}
	}
	return set
}

func accepts(t *testing.T, name, what string, p *profile.Profile) {
	t.Helper()
	for _, pattern := range []fileio.Pattern{fileio.Random, fileio.Sequential} {
		r, err := fileio.Open(name, fileio.Options{Pattern: pattern, Profile: p})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		r.Close()
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if w, err := fileio.NewWriter(f, fileio.WriterOptions{Profile: p}); err != nil {
		t.Errorf("%s: %v", what, err)
	} else if err := w.Close(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	l, err := wal.Open(filepath.Join(t.TempDir(), "log"), wal.Options{SegmentSize: 64 << 10, Profile: p})
	if err != nil {
		t.Errorf("%s: %v", what, err)
	} else if err := l.Close(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if n := p.Create.Shards; n > 0 {
		d, err := newfile.OpenDir(t.TempDir(), newfile.Options{Shards: n})
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if err := d.Close(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s := p.Header.Strategy; s != "" && !slices.Contains([]string{header.Clone.String(), header.KernelCopy.String(), header.Copy.String()}, s) {
		t.Errorf("%s: no strategy is called %s", what, s)
	}
}

// Every way does its job.
func TestTuningWaysWork(t *testing.T) {
	for _, c := range choices(job.Scale(256), 0) {
		for _, l := range c.Loads {
			t.Run(l.experiment.ID(), func(t *testing.T) {
				ran, unable := 0, ""
				for i := range l.experiment.Variants {
					v := &l.experiment.Variants[i]
					ops := max(l.experiment.Ops, 3)
					if v.Cell != nil {
						ops = 40 // at least one for each goroutine
					}
					b, why := suitetest.RunOnce(t, &l.experiment, v, t.TempDir(), ops)
					if b == nil {
						unable = why
						continue
					}
					ran++
					if b.Ops != ops {
						t.Errorf("%s did %d of %d operations", v.Name, b.Ops, ops)
					}
				}
				if ran == 0 {
					t.Skip(unable)
				}
			})
		}
	}
}

// Blocks of few operations stay within one segment: else the next would be prepared while
// appends are timed.
func TestTuningStaysInASegment(t *testing.T) {
	for _, size := range []int{tuneSmall, tuneLarge} {
		e := tuneWALExperiment(1, size, 1)
		if room := tuneSegment(1, size); e.MaxOps*int64(size) > room*9/10 || e.MaxOps < 100 {
			t.Errorf("%d records of %d bytes in a segment of %d", e.MaxOps, size, room)
		}
	}
}
