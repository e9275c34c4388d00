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
	for _, e := range Full(job.Scale(1024)) {
		if e.Name == "append" && (e.Params["size"] != "1024" || e.Params["appenders"] != "64") ||
			e.Name == "delay" && e.Params["appenders"] != "16" {
			continue
		}
		t.Run(e.ID(), func(t *testing.T) {
			dir := suitetest.MemoryDir(t)
			if e.Params["cache"] == datafile.Cold {
				dir = t.TempDir() // memory is never cold
			}
			for i := range e.Variants {
				v := &e.Variants[i]
				block := filepath.Join(dir, fmt.Sprint(i))
				if err := os.Mkdir(block, 0o777); err != nil {
					t.Fatal(err)
				}
				ops := int64(70)
				if e.Name == "open" {
					ops = 2
				}
				b, err := lab.RunOnce(t.Context(), &e, v, block, ops, 7)
				switch {
				case b.Unsupported:
					t.Logf("%s: %v", v.Name, err)
				case err != nil || b.Ops != ops:
					t.Errorf("%s did %d operations of %d: %v", v.Name, b.Ops, ops, err)
				}
				if e.Name == "open" {
					continue
				}
				if err := os.RemoveAll(block); err != nil { // 128 MiB of memory
					t.Fatal(err)
				}
			}
		})
	}
}

// The variants of each promise have a baseline that is not Stele, but where
// only settings of Stele are compared.
func TestWALBaselines(t *testing.T) {
	for _, e := range Full(1) {
		for _, v := range e.Variants {
			base := e.BaselineFor(v.Promise)
			if !base.Baseline || e.Name != "delay" && strings.HasPrefix(base.Name, "wal.") {
				t.Errorf("%s: %s is compared with %s", e.ID(), v.Name, base.Name)
			}
		}
		if e.Name != "append" {
			continue
		}
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

// A log that is not as it was written is an error, and no fast way.
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
