package wals

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/internal/suitetest"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/wal"
)

// Every way keeps what several appenders add.
func TestWALWaysKeepRecords(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.Name, func(t *testing.T) {
			dir := suitetest.MemoryDir(t)
			l, err := w.Open(job.Site{Dir: dir, Ops: suitetest.LogRecords, Size: suitetest.LogRecordSize})
			if err != nil {
				if strings.HasSuffix(w.Name, string(wal.SyncDirect)) {
					t.Skip(err)
				}
				t.Fatal(err)
			}
			suitetest.KeepsRecords(t, dir, l.Append, l.close)
		})
	}
}

// Every way runs in every kind of experiment; they differ in numbers only.
func TestWALExperimentsRun(t *testing.T) {
	const s = job.Scale(1024)
	for _, e := range []lab.Experiment{appends(64, 1<<10).Build(), scaling(), delaying(16)} {
		t.Run(e.ID(), func(t *testing.T) {
			dir := suitetest.MemoryDir(t)
			for i := range e.Variants {
				block := filepath.Join(dir, fmt.Sprint(i))
				runVariant(t, &e, &e.Variants[i], block, 70)
				if err := os.RemoveAll(block); err != nil { // 128 MiB of memory
					t.Fatal(err)
				}
			}
		})
	}
	for state, dir := range map[string]string{
		datafile.Warm: suitetest.MemoryDir(t),
		datafile.Cold: t.TempDir(), // memory is never cold
	} {
		e := reopening(s, state)
		t.Run(e.ID(), func(t *testing.T) {
			for i := range e.Variants {
				runVariant(t, &e, &e.Variants[i], filepath.Join(dir, fmt.Sprint(i)), 2)
			}
		})
	}
}

// runVariant does a block of ops operations in the new directory block.
func runVariant(t *testing.T, e *lab.Experiment, v *lab.Variant, block string, ops int64) {
	t.Helper()
	if err := os.Mkdir(block, 0o777); err != nil {
		t.Fatal(err)
	}
	b, err := lab.RunOnce(t.Context(), e, v, block, ops, 7)
	switch {
	case b.Unsupported:
		t.Logf("%s: %v", v.Name, err)
	case err != nil || b.Ops != ops:
		t.Errorf("%s did %d operations of %d: %v", v.Name, b.Ops, ops, err)
	}
}

// The variants of each promise have a baseline. It is not Stele, but where only
// settings of Stele are compared.
func TestWALBaselines(t *testing.T) {
	check := func(e lab.Experiment, steleToo bool) {
		for _, v := range e.Variants {
			base := e.BaselineFor(v.Promise)
			if !base.Baseline || !steleToo && strings.HasPrefix(base.Name, "wal.") {
				t.Errorf("%s: %s is compared with %s", e.ID(), v.Name, base.Name)
			}
		}
	}
	check(delaying(16), true)
	check(scaling(), false)
	check(reopening(1, datafile.Warm), false)
	for _, e := range job.Build(Jobs()) {
		check(e, false)
		for _, level := range []durability.Level{durability.Power, durability.Kill, durability.None} {
			if !slices.ContainsFunc(e.Variants, func(v lab.Variant) bool {
				return v.Promise == job.Promise(level, durability.Prefix) && strings.HasPrefix(v.Name, WayAppend)
			}) {
				t.Errorf("%s has no way of package wal at level %v", e.ID(), level)
			}
		}
	}
}

func TestWrongWALParameterIsAnError(t *testing.T) {
	for _, wrong := range []run.Params{{"size": "64", "appenders": "0"}, {"size": "64"}, {"size": "-1", "appenders": "1"}, {"appenders": "2"}} {
		e := appends(1, 64).Build()
		e.Params = wrong
		if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 1, 7); err == nil {
			t.Errorf("%v gave no error", wrong)
		}
	}
}

// A damaged log is an error, not a fast way.
func TestOpenNoticesDamage(t *testing.T) {
	e := reopening(job.Scale(1024), datafile.Warm)
	for _, v := range e.Variants {
		dir := suitetest.MemoryDir(t)
		if _, err := lab.RunOnce(t.Context(), &e, &v, dir, 1, 7); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "shared", "*", "*"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		flip(t, files[slices.IndexFunc(files, func(name string) bool {
			return filepath.Base(name) == "log" || strings.HasSuffix(name, "01.wal")
		})], 300_000%(64<<10))
		_, err = lab.RunOnce(t.Context(), &e, &v, dir, 1, 7)
		if (err == nil) != (v.Name == openLazy) {
			t.Errorf("%s of a damaged log: %v", v.Name, err)
		}
	}
}

func flip(t *testing.T, name string, off int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], off); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b[:], off); err != nil {
		t.Fatal(err)
	}
}
