package claims

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// Each variant of each claim does its job, with few operations, and leaves
// the working directory as it was.
func TestCreationCostClaimsRun(t *testing.T) {
	const ops = 30
	for _, c := range creationCostClaims() {
		for i, e := range c.Experiments {
			if e.Params["left"] != "" && e.Params["left"] != "0" {
				c.Experiments[i] = suitetest.Smaller(e)
			}
			if e.Variant(variantSetAside) != nil && !roomFor1G(t.TempDir()) {
				c.Experiments[i].Variants = slices.DeleteFunc(e.Variants, func(v lab.Variant) bool { return v.Name == variantSetAside })
			}
		}
		runClaims(t, []Claim{c}, ops, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
			checkCreated(t, e, dir, ops, b)
		})
	}
}

// roomFor1G reports whether a file may take 1 GiB of a disk.
func roomFor1G(dir string) bool {
	info, err := sys.StatFS(dir)
	return err == nil && info.Free > 4<<30 && sys.FSName(info.Magic) != "tmpfs"
}

// leavesNoFile has the experiments and variants whose files are gone at the end, or elsewhere.
var leavesNoFile = map[string]bool{
	variantUnnamed: true, variantInShm: true, variantPool: true, variantMemFS: true, variantTempShm: true, variantSlices: true, variantDup: true,
	"C3-check": true,                      // unmounted
	"C10-rate": true, "C10-latency": true, // removed
}

// checkCreated looks at the files and the report of a block.
func checkCreated(t *testing.T, e *lab.Experiment, dir string, ops int, b run.Block) {
	t.Helper()
	want := ops
	switch {
	case e.Name == "C1-coded":
		want = 26
	case leavesNoFile[b.Variant], leavesNoFile[e.Name], e.Params["left"] != "" && e.Params["left"] != "0":
		want = 0
	case b.Variant == variantSyncPool, b.Variant == variantTruncated:
		want = publishedFiles + int(b.Metrics["files_made"])
	case e.Name == "C9-bursts":
		want = c9Probe + ops - int(b.Metrics[overflowShare]*float64(ops))
	case e.Name == "C5-write":
		want = 1
		info, err := os.Stat(filepath.Join(dir, "data"))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() != c5FileSize {
			t.Errorf("%s left %d bytes, want %d", b.Variant, info.Size(), c5FileSize)
		}
		if b.Variant == variantSetAside && sys.AllocatedBytes(info) < c5FileSize {
			t.Errorf("only %d bytes were set aside", sys.AllocatedBytes(info))
		}
		return // a file of 1 GiB is not read
	}
	if n := len(suitetest.RegularFiles(t, dir)); n != want {
		t.Errorf("%s %s left %d files, want %d", e.ID(), b.Variant, n, want)
	}
	if e.Name == "C9-bursts" && (b.Metrics[callbackTime] <= 0 || b.Metrics[servedRate] <= 0) {
		t.Errorf("%s %s reports callbacks after %v ns, %v files a second", e.ID(), b.Variant, b.Metrics[callbackTime], b.Metrics[servedRate])
	}
	if e.Name == "C9-callers" || e.Name == "C9-flood" {
		if b.Metrics[answerTime] <= 0 || b.Metrics[overflowShare] < 0 || b.Metrics[overflowShare] > 1 {
			t.Errorf("%s %s reports answers after %v ns, overflow %v", e.ID(), b.Variant, b.Metrics[answerTime], b.Metrics[overflowShare])
		}
	}
}
