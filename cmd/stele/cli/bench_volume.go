package cli

import (
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
	warnings := []run.Warning{{Code: run.WarnLimited, Text: profile.String(), N: int64(profile.IOSize)}}
	if scratch.LimitedByGroup() {
		warnings = append(warnings, run.Warning{Code: run.WarnLimitGroup})
	}
	for i := range measured.Places {
		if strings.HasSuffix(measured.Places[i].Name, b.volumePlace("")) {
			e := &measured.Places[i].Environment
			e.Warnings = append(e.Warnings, warnings...)
		}
	}
}
