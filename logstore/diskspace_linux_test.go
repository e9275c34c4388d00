package logstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	scratchfs "github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/sys"
)

// On a small file system that fills up, appends are refused before the log
// fails, no acknowledged entry is lost, and appends continue once there is free
// space.
func TestFullDisk(t *testing.T) {
	for _, c := range []struct {
		name string
		// blind: the store does not check free space.
		blind bool
	}{{"refused before", false}, {"refused by the disk", true}} {
		t.Run(c.name, func(t *testing.T) {
			p, err := scratchfs.Image(t.Context(), scratchfs.Options{FS: "ext4", Size: 192 << 20, Store: t.TempDir()})
			if err != nil {
				t.Skip(err)
			}
			defer func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}()
			dir := filepath.Join(p.Path, "store")
			o := Options{Memory: minMemory}
			free := o.reservedFree()
			if c.blind {
				more := free - 1
				o.MinFree, o.statfs = 1, func(name string) (sys.FSInfo, error) {
					info, err := sys.StatFS(name)
					info.Free += more
					return info, err
				}
				free = 1
			}
			s := openTest(t, dir, o)
			defer s.Close()
			ballast := filepath.Join(p.Path, "ballast")
			if err := occupy(ballast, free+12<<20); err != nil {
				t.Fatal(err)
			}
			s.space.refreshSignal.wake()
			now := time.Now().UnixNano()
			want := map[kept]int{}
			add := func(i int) error {
				st := Stream{Labels: MustLabels("app", "api")}
				for j, line := range lines(50, 8000) {
					for k := range line { // hard to make small, and without a word
						line[k] = byte(uint64(i*7919+j*104729+k*k*31+k*i) * 0x9e3779b97f4a7c15 >> 59)
					}
					st.Entries = append(st.Entries, Entry{Time: now + int64(i), Line: line})
				}
				err := s.Append(context.Background(), Batch{st})
				if err == nil {
					for _, e := range st.Entries {
						want[kept{st.Labels.enc, e.Time, string(e.Line), ""}]++
					}
				}
				return err
			}
			i := 0
			for ; i < 1000 && err == nil; i++ {
				err = add(i)
			}
			if !errors.Is(err, ErrLowSpace) || errors.Is(err, ErrUnsure) {
				t.Fatalf("after %d batches of 400 kB: %v", i, err)
			}
			if full := errors.Is(err, syscall.ENOSPC); !c.blind && full {
				t.Errorf("the log could not write: %v", err)
			}
			sameCounts(t, "on a full disk", counted(contents(t, s)), want)
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			until(t, "appends go on", func() bool { i++; return add(i) == nil })
			until(t, "memory is sealed", func() bool { return s.Seal(context.Background()) == nil })
			sameCounts(t, "with free space again", counted(contents(t, s)), want)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again := openTest(t, dir, Options{Memory: minMemory})
			sameCounts(t, "opened anew", counted(contents(t, again)), want)
			again.Close()
		})
	}
}

// occupy creates a file so large that only free bytes stay free.
func occupy(name string, free int64) error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(name), &st); err != nil {
		return err
	}
	n := int64(st.Bavail)*int64(st.Bsize) - free
	if n <= 0 {
		return fmt.Errorf("only %d bytes are free", int64(st.Bavail)*int64(st.Bsize))
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(syscall.Fallocate(int(f.Fd()), 0, 0, n), f.Close())
}
