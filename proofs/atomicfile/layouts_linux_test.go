package atomicfile_test

import (
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// SyncAuto relies on the order of a file system's journal, on every layout of data that
// atomicfile accepts: each is cut.
func TestLayouts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    power.Options
	}{
		{"ext4 nodelalloc", power.Options{Mount: "nodelalloc"}},
		{"ext4 dioread_lock", power.Options{Mount: "dioread_lock"}},
		{"ext4 nodelalloc,dioread_lock", power.Options{Mount: "nodelalloc,dioread_lock"}},
		{"ext4 bigalloc", power.Options{Mkfs: []string{"-O", "bigalloc"}}},
		{"ext4 inline data", power.Options{Mkfs: []string{"-O", "inline_data", "-I", "1024"}}},
		{"ext4 blocks of 1 KiB", power.Options{Mkfs: []string{"-b", "1024"}}},
		{"ext4 without extents", power.Options{Mkfs: []string{"-O", "^extent,^64bit"}}},
		{"xfs without reflink", power.Options{FS: "xfs", Mkfs: []string{"-m", "reflink=0"}}},
		{"xfs blocks of 1 KiB", power.Options{FS: "xfs", Mkfs: []string{"-b", "size=1024"}}},
		{"xfs extent size hint", power.Options{FS: "xfs", Mkfs: []string{"-d", "extszinherit=16"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			works := []replaceFiles{inDir(syncAuto, dirFresh), inDir(syncAuto, dirBatches)}
			if prove.Long() {
				works = append(works, inDir(syncAuto, dirSingles), inDir(syncAuto, dirParallel))
			}
			for _, work := range works {
				o := c.o
				o.Seed, o.Prepare = prove.Seed(t), firstVersions
				o.OnSync = func(s crashtest.Sync) crashtest.SyncFault {
					if s.Path != "." {
						t.Errorf("%v: SyncAuto does not rely on the journal here", s)
					}
					return crashtest.NoFault
				}
				prove.Keeps(t, powertest.Record(t, o, work), prove.Cuts(), checkVersions)
			}
		})
	}
}
