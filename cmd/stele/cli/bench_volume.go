package cli

import (
	"fmt"
	"strings"

	"github.com/stele-go/stele/fileio/pace"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/lab/run"
)

// limit returns the limit of --volume.
func (b *benchFlags) limit() (scratch.Limit, error) {
	if b.volume == "" {
		return scratch.Limit{}, nil
	}
	p, err := pace.Parse(b.volume)
	return scratch.Limit{IOPS: int64(p.IOPS), BytesPerSecond: p.BytesPerSecond}, err
}

// volumePlace returns the name of a limited place.
func (b *benchFlags) volumePlace(fs string) string {
	if b.volume == "" {
		return fs
	}
	return fs + " on " + b.volume
}

// noteVolume warns of the differences from a real volume. The limit cannot be seen
// from inside a place, so the environment's own warnings lack it.
func (b *benchFlags) noteVolume(measured *run.Run) {
	if b.volume == "" {
		return
	}
	profile, err := pace.Parse(b.volume)
	if err != nil { // check has parsed it
		return
	}
	text := fmt.Sprintf("The kernel limits this image to %v, reads and writes each by itself. "+
		"A cloud volume's latency and jitter cannot be imitated: within the limits a request takes the time of the disk here, without a network, neighbours and burst credits. "+
		"Findings at the limits hold for the volume; measure the others on it.", profile)
	if profile.IOSize > 0 {
		text += fmt.Sprintf(" The volume counts a request once for every %d KiB of it, the kernel once as the device gets it.", profile.IOSize>>10)
	}
	if scratch.LimitedByGroup() {
		text += " It is a limit of cgroup v2 (io.max), which the kernel threads that write the log of XFS escape: a sync there may be faster than the volume allows."
	}
	for i := range measured.Places {
		if strings.HasSuffix(measured.Places[i].Name, b.volumePlace("")) {
			e := &measured.Places[i].Environment
			e.Warnings = append(e.Warnings, run.Warning{Code: run.WarnVolume, Text: text})
		}
	}
}
