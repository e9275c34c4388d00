package power

import (
	"fmt"
	"strings"

	"github.com/stele-go/stele/crashtest"
)

// Options are the settings of a recording. The zero value is an ext4 with
// a journal and a random seed.
type Options struct {
	// FS is the file system: "ext4" (the default), "xfs" or "btrfs", made by
	// mkfs with its defaults.
	FS string
	// Mkfs are further arguments of mkfs: []string{"-O", "bigalloc"}.
	Mkfs []string
	// Mount has options of mount(8), separated by commas. The default, "",
	// takes those of the file system.
	Mount string
	// Size is the size of the device in bytes, a multiple of 4,096. The
	// default, 0, is small: 64 MiB for ext4, 300 MiB for xfs (the least that
	// mkfs.xfs takes), 128 MiB for btrfs. It takes memory only for written
	// pages.
	Size int64
	// Seed draws the cuts and the losses. The same seed on the same recording
	// gives the same images. The default, 0, draws a seed; Recording.String and
	// Result have it.
	Seed uint64
	// Prepare, unless nil, makes the files that are there before the first cut.
	// They are synced with the whole file system before the work begins.
	Prepare func(dir string) error
	// OnSync, unless nil, is called before each fsync, fdatasync and syncfs of
	// the work, and can make it return success without syncing: that makes a
	// mutant of any code. One goroutine at a time calls it. It does not see
	// other ways to sync (sync(2), msync, O_SYNC, RWF_DSYNC, io_uring).
	//
	// OnSync must not sync itself.
	OnSync func(crashtest.Sync) crashtest.SyncFault
}

// A Cut is one power cut: a point of the log, and the fate of the writes that
// were not flushed there.
type Cut struct {
	N        int    // number in this check, from 0, in the order of the log
	At       int    // records of the log before the cut
	Where    string // how the point was chosen: "flush", "ack", "random"; or "shutdown", "kill"
	Acked    int    // entries of the ledger before the cut
	Kept     int    // unflushed writes that are kept whole
	Torn     int    // unflushed writes of which some sectors are kept
	Dropped  int    // unflushed writes that are lost
	fate     fate
	fateSeed uint64
}

// String returns the point of the cut and the counts of unflushed writes.
func (c Cut) String() string {
	if c.Where == "shutdown" || c.Where == "kill" {
		return fmt.Sprintf("%s %d: %d acknowledged", c.Where, c.N, c.Acked)
	}
	return fmt.Sprintf("cut %d (%s) after record %d: %d acknowledged; unflushed writes: %d kept, %d torn, %d dropped",
		c.N, c.Where, c.At, c.Acked, c.Kept, c.Torn, c.Dropped)
}

// A Loss is a cut after which the check returned an error.
type Loss struct {
	Cut Cut
	Err error
}

// A Result is the result of a check.
type Result struct {
	FS   string
	Seed uint64
	Cuts int
	Lost []Loss
}

// String returns the counts and the first three losses.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d cuts, %d with a loss (seed %d)", r.FS, r.Cuts, len(r.Lost), r.Seed)
	for i, l := range r.Lost {
		if i == 3 {
			fmt.Fprintf(&b, "\n\t... and %d more", len(r.Lost)-i)
			break
		}
		fmt.Fprintf(&b, "\n\t%v\n\t\t%v", l.Cut, l.Err)
	}
	return b.String()
}
