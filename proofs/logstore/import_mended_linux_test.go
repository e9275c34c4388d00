package logstore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of an import from a damaged segment: after any crash or fault during it, and once
// the segment is mended, the next import leaves each entry of the source there once.

// flipImport flips a bit in the last block of the segment of the source.
func flipImport(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "src", "segments", "*.seg"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("segments %v: %w", files, err)
	}
	s, err := logstore.InspectSegment(files[0])
	if err != nil {
		return err
	}
	defer s.Close()
	at, blocks := int64(0), 0
	for b, err := range s.EachBlock() {
		if err != nil {
			return err
		}
		at, blocks = b.Offset+b.Bytes-8, blocks+1
	}
	if blocks < 2 {
		return fmt.Errorf("%d blocks; want some before the damaged one", blocks)
	}
	p, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	p[at] ^= 1
	return os.WriteFile(files[0], p, 0o666)
}

// prepareDamagedImport is prepareImport with lines that fill several blocks, of which the
// last one is damaged.
func prepareDamagedImport(dir string) error {
	random := rand.New(rand.NewPCG(1, 2))
	if err := prepareImportWith(dir, func(int) logstore.Labels {
		return logstore.MustLabels("id", fmt.Sprintf("%016x%016x%016x%016x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()))
	}); err != nil {
		return err
	}
	return flipImport(dir)
}

// importMended mends the source and imports again.
func importMended(dir string, ledger []int) error {
	if err := flipImport(dir); err != nil {
		return err
	}
	return checkImport(dir, ledger)
}

// importTwice imports again before the source is mended.
func importTwice(dir string, ledger []int) error {
	if err := importInto(dir, func(int) {}); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return importMended(dir, ledger)
}

func TestImportMendedStates(t *testing.T) {
	t.Parallel()
	h := prove.RecordMount(t, states.MountOptions{Prepare: prepareDamagedImport}, importInto)
	for name, check := range map[string]func(string, []int) error{"mended": importMended, "twice": importTwice} {
		t.Run(name, func(t *testing.T) {
			rep := h.CheckDir(states.Options{Max: crashSample(4), Seed: prove.Seed(t), Model: states.Journaled}, check)
			if t.Log(rep); rep.Err() != nil {
				t.Error(rep)
			}
		})
	}
}

func TestImportMendedFaults(t *testing.T) {
	t.Parallel()
	prove.FaultsMount(t, states.FaultOptions{Prepare: prepareDamagedImport, Seed: prove.Seed(t), Max: crashSample(3)}, importInto, importMended)
}

// Without the syncs of the lists of what is imported, crash states fail.
func TestImportMendedMutants(t *testing.T) {
	if prove.RaceSampled() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	t.Parallel()
	h := prove.RecordMount(t, states.MountOptions{Prepare: prepareDamagedImport}, importInto)
	prove.Missed(t, h, states.Options{Max: crashSample(24), Seed: prove.Seed(t)}, importMended, func(s crashtest.Sync) bool {
		return strings.HasSuffix(s.Path, ".seen")
	})
}
