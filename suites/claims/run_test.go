package claims

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// needsDirectIO has the experiments and variants that fail where the file system has no
// direct I/O.
var needsDirectIO = map[string]bool{variantAIO: true, "C5-write": true}

// runClaims runs each variant of the claims' experiments once in this process, and checks
// that the working directory stays as it was.
func runClaims(t *testing.T, claims []Claim, ops int64, check func(*testing.T, *lab.Experiment, string, run.Block)) {
	t.Helper()
	was, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		for _, e := range c.Experiments {
			for i := range e.Variants {
				dir := t.TempDir()
				b, err := lab.RunOnce(t.Context(), &e, &e.Variants[i], dir, ops, 7)
				switch {
				case b.Unsupported, err != nil && (needsDirectIO[e.Name] || needsDirectIO[e.Variants[i].Name]):
					t.Logf("%s: %s cannot run here: %v", e.ID(), e.Variants[i].Name, err)
				case err != nil:
					t.Errorf("%s: %v", e.ID(), err)
				default:
					check(t, &e, dir, b)
				}
			}
		}
	}
	if now, err := os.Getwd(); err != nil || now != was {
		t.Errorf("the working directory is %s, was %s", now, was)
	}
}

func wantSize(t *testing.T, name string, want int64) {
	t.Helper()
	if info, err := os.Stat(name); err != nil || info.Size() != want {
		t.Errorf("%s should have %d bytes: %v, %v", filepath.Base(name), want, info, err)
	}
}

func wantEntries(t *testing.T, dir string, want int64) {
	t.Helper()
	if list, err := os.ReadDir(dir); err != nil || int64(len(list)) != want {
		t.Errorf("%s has %d entries, want %d (%v)", dir, len(list), want, err)
	}
}
