package power

import (
	"fmt"
	"strings"

	"github.com/stele-go/stele/crashtest"
)

// Options are the settings of a recording. The zero value is an ext4 with a
// journal, and a seed that is drawn and printed.
type Options struct {
	// FS is the file system: "ext4" (the default), "xfs" or "btrfs", made by
	// mkfs with the settings it has by default.
	FS string
	// Mkfs are more arguments of mkfs: []string{"-O", "bigalloc"}.
	Mkfs []string
	// Mount are options of mount(8), with commas between. The default, "", is
	// the file system's own.
	Mount string
	// Size of the device in bytes, a multiple of 4,096. The default, 0, is
	// small: 64 MiB for ext4, 300 MiB for xfs (the least that mkfs.xfs
	// takes), 128 MiB for btrfs. It takes memory only for what is written.
	Size int64
	// Seed draws where to cut and what is lost. The same seed on the same
	// recording gives the same images. The default, 0, draws one; Record
	// prints it.
	Seed uint64
	// Prepare, unless nil, makes what is there before the first cut. It is
	// synced with the whole file system before the work begins.
	Prepare func(dir string) error
	// OnSync, unless nil, is asked about each fsync, fdatasync and syncfs of
	// the work before it is done, and can have it fail to do its duty while
	// it claims success: so a mutant is made of any code. It is called by one
	// goroutine at a time, and must not sync itself. Other ways to sync
	// (sync(2), msync, O_SYNC, RWF_DSYNC, io_uring) do not pass here.
	OnSync func(crashtest.Sync) crashtest.SyncFault
}

// A Cut is one power cut: a place in the log and the fate of what was not
// flushed there.
type Cut struct {
	N        int    // of this check, from 0 on, in the order of the log
	At       int    // records of the log that came before the cut
	Where    string // "flush", "ack" or "random": how the place was chosen; or "shutdown", "kill"
	Acked    int    // entries of the ledger that came before the cut
	Kept     int    // unflushed writes that are wholly there,
	Torn     int    // of which some sectors are there,
	Dropped  int    // and of which nothing is
	fate     fate
	fateSeed uint64
}

// String tells where the cut is and what became of the unflushed writes.
func (c Cut) String() string {
	if c.Where == "shutdown" || c.Where == "kill" {
		return fmt.Sprintf("%s %d: %d acknowledged", c.Where, c.N, c.Acked)
	}
	return fmt.Sprintf("cut %d (%s) after record %d: %d acknowledged; unflushed writes: %d kept, %d torn, %d dropped",
		c.N, c.Where, c.At, c.Acked, c.Kept, c.Torn, c.Dropped)
}

// A Loss is a cut after which the check failed.
type Loss struct {
	Cut Cut
	Err error
}

// A Result is what a check found.
type Result struct {
	FS   string
	Seed uint64
	Cuts int
	Lost []Loss
}

// String counts, and shows the first three losses.
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
