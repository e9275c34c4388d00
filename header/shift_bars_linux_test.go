package header_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/internal/measure/pagecache"
)

// TestShiftBar compares a shift with reading and rewriting the file, at level
// Kill with a padded header of 128 bytes before 10 MiB that are on the disk: on
// ext4 at most 1/8 of its time where the file is in the page cache, and 1/20
// where it is not. A shift drops the file from the page cache, and rewriting fills the
// cache, so the time including the next read of the whole file is shown too.
// The fastest of the rounds count, as in TestBars.
func TestShiftBar(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("measures for half a minute, and not beside other tests; set STELE_LONG=1")
	}
	if len(images()) == 0 {
		t.Skip("needs images, and so root, loop devices and mkfs")
	}
	head := bytes.Repeat([]byte("h"), 128)
	shift := header.Options{Level: durability.Kill, Mode: header.InPlace, Strategy: header.Shift, Pad: header.PadByte('\n')}
	ways := []func(name string) error{
		func(name string) error { return rewrite(name, head) },
		func(name string) error { return second(header.Insert(context.Background(), name, head, shift)) },
	}
	const rounds = 15
	for _, place := range images() {
		if !slices.Contains(place.can, header.Shift) {
			continue
		}
		for _, c := range []struct {
			name string
			cold bool
			bar  float64
		}{{"warm", false, 1. / 8}, {"cold", true, 1. / 20}} {
			t.Run(place.name+"/"+c.name, func(t *testing.T) {
				name := filepath.Join(place.dir, "file")
				defer os.Remove(name)
				content := bytesOf(10 << 20)
				var took, withRead [2][]time.Duration
				for round := range rounds + 1 {
					for j := range ways {
						i := (j + round) % len(ways)
						must(t, os.RemoveAll(name))
						must(t, os.WriteFile(name, content, 0o644))
						f, err := os.Open(name)
						must(t, err)
						must(t, f.Sync())
						if c.cold {
							must(t, pagecache.Drop(f))
						}
						must(t, f.Close())
						runtime.GC() // belongs to the way that allocates, not to the next
						start := time.Now()
						must(t, ways[i](name))
						changed := time.Since(start)
						b, err := os.ReadFile(name)
						both := time.Since(start)
						if err != nil || !bytes.HasSuffix(b, content) || !bytes.HasPrefix(b, head) {
							t.Fatalf("%d bytes, %v: not the file with a header", len(b), err)
						}
						if round > 0 { // the first round warms the caches
							took[i] = append(took[i], changed)
							withRead[i] = append(withRead[i], both)
						}
					}
				}
				best := func(d []time.Duration) float64 { return float64(slices.Min(d)) }
				ratio := best(took[1]) / best(took[0])
				t.Logf("shift %v, 1/%.1f of read-and-rewrite, %v; with the next read of the file %v, 1/%.1f of %v",
					micros(best(took[1])), 1/ratio, micros(best(took[0])),
					micros(best(withRead[1])), best(withRead[0])/best(withRead[1]), micros(best(withRead[0])))
				if place.name == "ext4" && ratio > c.bar {
					t.Errorf("a shift takes %.3f of read-and-rewrite, more than %.3f", ratio, c.bar)
				}
			})
		}
	}
}
