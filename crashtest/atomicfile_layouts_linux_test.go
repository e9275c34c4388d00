package crashtest_test

import (
	"testing"

	"github.com/stele-go/stele/crashtest"
)

// SyncAuto rests on the order of a file system's journal, whatever way that
// takes the data: each way that atomicfile does not deny is cut.
func TestAtomicfileLayouts(t *testing.T) {
	for _, c := range []struct {
		name string
		o    crashtest.Options
	}{
		{"ext4 nodelalloc", crashtest.Options{Mount: "nodelalloc"}},
		{"ext4 dioread_lock", crashtest.Options{Mount: "dioread_lock"}},
		{"ext4 nodelalloc,dioread_lock", crashtest.Options{Mount: "nodelalloc,dioread_lock"}},
		{"ext4 bigalloc", crashtest.Options{Mkfs: []string{"-O", "bigalloc"}}},
		{"ext4 inline data", crashtest.Options{Mkfs: []string{"-O", "inline_data", "-I", "1024"}}},
		{"ext4 blocks of 1 KiB", crashtest.Options{Mkfs: []string{"-b", "1024"}}},
		{"ext4 without extents", crashtest.Options{Mkfs: []string{"-O", "^extent,^64bit"}}},
		{"xfs without reflink", crashtest.Options{FS: "xfs", Mkfs: []string{"-m", "reflink=0"}}},
		{"xfs blocks of 1 KiB", crashtest.Options{FS: "xfs", Mkfs: []string{"-b", "size=1024"}}},
		{"xfs extent size hint", crashtest.Options{FS: "xfs", Mkfs: []string{"-d", "extszinherit=16"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			works := []replaceFiles{inDir(syncAuto, dirFresh), inDir(syncAuto, dirBatches)}
			if long() {
				works = append(works, inDir(syncAuto, dirSingles), inDir(syncAuto, dirParallel))
			}
			for _, work := range works {
				o := c.o
				o.Seed, o.Prepare = *seedFlag, firstVersions
				o.OnSync = func(s crashtest.Sync) crashtest.Fault {
					if s.Path != "." {
						t.Errorf("%v: SyncAuto does not rely on the journal here", s)
					}
					return crashtest.NoFault
				}
				keeps(t, crashtest.Record(t, o, work), cuts(), checkVersions)
			}
		})
	}
}
