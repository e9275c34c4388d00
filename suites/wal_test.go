package suites

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/wal"
)

// memoryDir is a folder in which syncs take no time, where there is one.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "stele-suites-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// logRecords reads what a way has left in dir, in order.
func logRecords(t *testing.T, dir string) (all []string) {
	t.Helper()
	if info, err := os.Stat(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	} else if info.IsDir() {
		l, err := wal.Open(filepath.Join(dir, "log"), wal.Options{Level: durability.Kill})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for rec, err := range l.All(0) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(rec.Data))
		}
		return all
	}
	b, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for len(b) >= frameHead {
		n := int(binary.LittleEndian.Uint32(b))
		if n == 0 {
			break // written ahead
		}
		if frame := b[:frameHead+n]; string(appendFrame(nil, frame[frameHead:])) != string(frame) {
			t.Fatalf("record %d is damaged", len(all))
		}
		all, b = append(all, string(b[frameHead:frameHead+n])), b[frameHead+n:]
	}
	return all
}

// What several appenders add is in the log, whole, once, and each one's in its
// order.
func TestWALWaysKeepRecords(t *testing.T) {
	const appenders, records, size = 8, 100, 1000
	ways := append(walWays(),
		threeLevelWay(l10Coded, "", durability.None), threeLevelWay(l10Meant, "", durability.Power))
	for _, w := range ways {
		t.Run(w.Name, func(t *testing.T) {
			dir := memoryDir(t)
			l, err := w.Open(dir, appenders*records, size)
			if err != nil {
				if strings.HasSuffix(w.Name, string(wal.SyncDirect)) {
					t.Skip(err)
				}
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for a := range appenders {
				wg.Go(func() {
					for i := range records {
						rec := fmt.Sprintf("%d %3d %s", a, i, strings.Repeat("x", size-6-(a*records+i)%50))
						if err := l.Append([]byte(rec)); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			if err := l.close(); err != nil {
				t.Fatal(err)
			}
			var next [appenders]int
			all := logRecords(t, dir)
			for _, rec := range all {
				var a, i int
				fmt.Sscanf(rec, "%d %d", &a, &i)
				if i != next[a] {
					t.Fatalf("record %d of appender %d comes where %d should", i, a, next[a])
				}
				next[a]++
			}
			if len(all) != appenders*records {
				t.Errorf("%d records are in the log, want %d", len(all), appenders*records)
			}
		})
	}
}

// Every way runs in every kind of experiment; they differ in numbers only.
func TestWALExperimentsRun(t *testing.T) {
	for _, e := range walFull(small) {
		if e.Name == "append" && (e.Params["size"] != "1024" || e.Params["appenders"] != "64") ||
			e.Name == "delay" && e.Params["appenders"] != "16" {
			continue
		}
		t.Run(e.ID(), func(t *testing.T) {
			dir := memoryDir(t)
			if e.Params["cache"] == cacheCold {
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
	for _, e := range walFull(1) {
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
				return v.Promise == promise(level, durability.Prefix) && strings.HasPrefix(v.Name, wayAppend)
			}) {
				t.Errorf("%s has no way of package wal at level %v", e.ID(), level)
			}
		}
	}
}

func TestWrongWALParameterIsAnError(t *testing.T) {
	for _, wrong := range []lab.Params{{"size": "64", "appenders": "0"}, {"size": "64"}, {"size": "-1", "appenders": "1"}, {"appenders": "2"}} {
		e := walAppend(1, 64)
		e.Params = wrong
		v := walWays()[0].Variant(&e)
		if _, err := lab.RunOnce(t.Context(), &e, &v, t.TempDir(), 1, 7); err == nil {
			t.Errorf("%v gave no error", wrong)
		}
	}
}

// A log that is not as it was written is an error, and no fast way.
func TestOpenNoticesDamage(t *testing.T) {
	e := walOpen(small, cacheWarm)
	for _, v := range e.Variants {
		dir := memoryDir(t)
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
