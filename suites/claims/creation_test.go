package claims

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// Each variant of each claim does its job, with few operations, and leaves
// the working directory as it was.
func TestCreationCostClaimsRun(t *testing.T) {
	was, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range creationCostClaims() {
		for _, e := range c.Experiments {
			if e.Params["left"] != "" && e.Params["left"] != "0" {
				e = suitetest.Smaller(e)
			}
			for i := range e.Variants {
				v := &e.Variants[i]
				const ops = 30
				dir := t.TempDir()
				if v.Name == variantSetAside && !roomFor1G(dir) {
					continue
				}
				b, err := lab.RunOnce(t.Context(), &e, v, dir, ops, 7)
				switch {
				case b.Unsupported:
					t.Logf("%s: %s cannot run here: %v", e.ID(), v.Name, err)
					continue
				case err != nil && e.Name == "C5-write":
					t.Logf("no direct I/O here: %v", err)
					continue
				case err != nil:
					t.Errorf("%s: %v", e.ID(), err)
					continue
				}
				checkCreated(t, &e, v, dir, ops, b)
			}
		}
	}
	if now, err := os.Getwd(); err != nil || now != was {
		t.Errorf("the working directory is %s, was %s", now, was)
	}
}

// roomFor1G says whether a file may take 1 GiB of a disk.
func roomFor1G(dir string) bool {
	info, err := sys.StatFS(dir)
	return err == nil && info.Free > 4<<30 && sys.FSName(info.Magic) != "tmpfs"
}

// checkCreated looks at what a block left and reported.
func checkCreated(t *testing.T, e *lab.Experiment, v *lab.Variant, dir string, ops int, b run.Block) {
	t.Helper()
	want := ops
	switch {
	case e.Name == "C1-coded":
		want = 26
	case v.Name == variantUnnamed, v.Name == variantPool, v.Name == variantMemFS, v.Name == variantTempShm, v.Name == variantSlices,
		e.Name == "C3-check", // unmounted
		e.Params["left"] != "" && e.Params["left"] != "0":
		want = 0
	case v.Name == variantSyncPool:
		want = int(b.Metrics["files_made"])
		if want < 1 || want > ops {
			t.Errorf("%s made %d files for %d goroutines", v.Name, want, ops)
		}
	case v.Name == variantFullPool:
		want = publishedFiles + int(b.Metrics["files_made"])
	case e.Name == "C5-write":
		want = 1
		info, err := os.Stat(filepath.Join(dir, "data"))
		if err != nil {
			t.Fatal(err)
		}
		if size := map[string]int64{variantSetAside: c5FileSize, variantGrowing: int64(ops) * c5Page}[v.Name]; info.Size() != size {
			t.Errorf("%s left %d bytes, want %d", v.Name, info.Size(), size)
		}
		if v.Name == variantSetAside && sys.AllocatedBytes(info) < c5FileSize {
			t.Errorf("only %d bytes were set aside", sys.AllocatedBytes(info))
		}
		return // a file of 1 GiB is not read
	}
	if n := len(suitetest.RegularFiles(t, dir)); n != want {
		t.Errorf("%s %s left %d files, want %d", e.ID(), v.Name, n, want)
	}
	if e.Suite == "claims" && strings.HasPrefix(e.Name, "C9") {
		if b.Metrics[answerTime] <= 0 || b.Metrics[overflowShare] < 0 || b.Metrics[overflowShare] > 1 {
			t.Errorf("%s %s reports answers after %v ns, overflow %v", e.ID(), v.Name, b.Metrics[answerTime], b.Metrics[overflowShare])
		}
	}
}
