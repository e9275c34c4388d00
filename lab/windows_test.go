package lab

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
)

// The windows of a timed block have memory and the page cache beside the operations;
// those of a block whose system calls are counted have neither.
func TestWindowsHaveMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	const each = 4 << 20
	writes := Variant{Name: "writes", Promise: run.Writes(durability.Kill, durability.Torn), Run: func(b *B) error {
		f, err := os.Create(filepath.Join(b.Dir, "f"))
		if err != nil {
			return err
		}
		defer f.Close()
		buf := make([]byte, each)
		for b.Loop() {
			for i := range buf {
				buf[i]++
			}
			if _, err := f.WriteAt(buf, 0); err != nil {
				return err
			}
		}
		return nil
	}}
	e := &Experiment{Suite: "s", Name: "n", Variants: []Variant{writes}}
	for _, role := range []string{run.RoleTimed, run.RoleCounted} {
		b := runBlock(context.Background(), e, &writes, blockSpec{Dir: t.TempDir(), Role: role, Ops: 8, Batch: 1, Window: 1})
		if b.Error != "" || len(b.Windows) < 2 {
			t.Fatalf("%s: %q, %d windows", role, b.Error, len(b.Windows))
		}
		for _, w := range b.Windows {
			if timed := role == run.RoleTimed; timed != (w.RSS >= each) || !timed && w.Unwritten != 0 {
				t.Errorf("%s: %d bytes resident, %d unwritten", role, w.RSS, w.Unwritten)
			}
		}
	}
}

func TestFillReadings(t *testing.T) {
	grid := []run.Window{{}, {Heap: 1, RSS: 2, Unwritten: 3}, {}, {Heap: 4, RSS: 5}}
	fillReadings(grid)
	for i, want := range []run.Window{{Heap: 1, RSS: 2, Unwritten: 3}, {Heap: 1, RSS: 2, Unwritten: 3}, {Heap: 1, RSS: 2, Unwritten: 3}, {Heap: 4, RSS: 5}} {
		if grid[i] != want {
			t.Errorf("window %d: %+v, want %+v", i, grid[i], want)
		}
	}
}
