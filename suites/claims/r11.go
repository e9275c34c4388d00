package claims

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/syncs"
)

// r11Systems are the file systems of R11. Each block makes its own, on any place.
var r11Systems = []string{"ext4", "xfs", "btrfs"}

// r11Cuts is how often the power is cut for each kind of change.
const r11Cuts = 30

// lostMetric counts the power cuts that lost an acknowledged change of a kind, cutsMetric
// all power cuts after one.
func lostMetric(k power.SyncKind) string { return "lost_" + kindWord(k) }

func cutsMetric(k power.SyncKind) string { return "cuts_" + kindWord(k) }

func kindWord(k power.SyncKind) string {
	return strings.NewReplacer(",", "", " ", "_").Replace(k.String())
}

// r11Local cuts the power under a file system. Its times are of no use.
func r11Local(fs string) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "R11-cut", Params: run.Params{"fs": fs},
		Question: "What do O_SYNC and O_DSYNC make durable?",
		Op:       fmt.Sprintf("%d kinds of change on a fresh %s, and %d power cuts for each", power.SyncKinds, fs, r11Cuts),
		Ops:      1, MaxRounds: 1,
	}
	for _, name := range []string{syncs.WayOSync, syncs.WayODsync} {
		way := syncs.WayNamed(name)
		e.Variants = append(e.Variants, lab.Variant{
			Name: name, Doc: way.Doc, Promise: powerTorn, Baseline: name == syncs.WayOSync,
			Run: func(b *lab.B) error {
				counts, err := r11Counts(b, fs, way)
				if err != nil {
					return err
				}
				for b.Loop() {
					for metric, n := range counts {
						b.Report(metric, n)
					}
				}
				return nil
			},
		})
	}
	return e
}

// r11Counts returns the metrics of the power cuts. They are made in the first block of a run,
// its pilot, and shared by the others: they take seconds, and their times are of no use.
func r11Counts(b *lab.B, fs string, way power.SyncWay) (counts map[string]float64, err error) {
	const name = "counts.json"
	dir, err := b.Shared("r11-"+fs+"-"+way.Name, func(dir string) error {
		row, err := power.SyncTable(b.Context(), power.Options{FS: fs, Seed: b.Rand.Uint64() | 1}, way, r11Cuts)
		if err != nil {
			return err
		}
		made := map[string]float64{}
		for k, c := range row.Cells {
			made[lostMetric(power.SyncKind(k))], made[cutsMetric(power.SyncKind(k))] = float64(c.Lost), float64(c.Cuts)
		}
		text, err := json.Marshal(made)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o600)
	})
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(text, &counts)
	return counts, err
}

// The variants of R11-fuse: the flag that the file is opened with, and the client's use of it.
const (
	r11SyncPassed   = "O_SYNC, passed on"
	r11SyncDropped  = "O_SYNC, dropped"
	r11DsyncPassed  = "O_DSYNC, passed on"
	r11DsyncDropped = "O_DSYNC, dropped"
	r11Fsync        = "write + fsync, flags dropped"
)

const (
	r11Blocks     = 64
	r11LostBlocks = "lost_blocks"
)

// r11Fuse writes through a client whose disk then loses unflushed data.
func r11Fuse() lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "R11-fuse", Question: "What happens to O_SYNC and O_DSYNC in a FUSE client?",
		Op:  fmt.Sprintf("%d blocks written through the client, then a power cut of its disk", r11Blocks),
		Ops: 1, MaxRounds: 3,
	}
	add := func(name, doc string, flags int, passes bool, sync func(*os.File) error) {
		p := powerTorn
		if !passes && sync == nil { // the real promise, whatever the flag says
			p = keptTorn
		}
		e.Variants = append(e.Variants, lab.Variant{
			Name: name, Doc: doc, Promise: p, Baseline: name == r11Fsync,
			Run: func(b *lab.B) error {
				if flags == 0 && sync == nil {
					return fmt.Errorf("%s: %w", name, errors.ErrUnsupported)
				}
				lost := 0
				for b.Loop() {
					c := &fuseClient{disk: newVolatileDisk(r11Blocks * 512), passes: passes}
					n, err := c.loseUnflushed(b.Dir, flags, r11Blocks, sync)
					if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
						return fmt.Errorf("mount a FUSE, which needs /dev/fuse and root or fusermount: %w: %w", errors.ErrUnsupported, err)
					}
					if err != nil {
						return err
					}
					lost += n
				}
				b.Report(r11LostBlocks, float64(lost)/float64(b.N))
				return nil
			},
		})
	}
	const flushes, ignores = "the client flushes its disk for a write with the flag", "the client ignores the flag"
	add(r11Fsync, "the client ignores the flags, and each write is followed by an fsync", 0, false, (*os.File).Sync)
	add(r11SyncPassed, flushes, os.O_SYNC, true, nil)
	add(r11SyncDropped, ignores, os.O_SYNC, false, nil)
	add(r11DsyncPassed, flushes, fileop.DataSync, true, nil)
	add(r11DsyncDropped, ignores, fileop.DataSync, false, nil)
	return e
}

func claimR11() Claim {
	return Claim{
		ID: "R11",
		Source: reportR.source("4.4",
			"O_SYNC makes data and metadata durable, O_DSYNC data and the metadata needed to read it, and a FUSE client that drops the flag loses acknowledged data."),
		Statement:   "O_SYNC and O_DSYNC: what each makes durable, on local file systems and through a FUSE client that passes the flag on and one that drops it",
		Claimed:     "data and all metadata; data and the metadata needed to read it; a client that drops it loses acknowledged data",
		Promise:     "power, torn: each write survives a power cut once it returns; through the client that drops the flag: kill, torn, whatever the flag",
		Experiments: append(experiments(r11Local, r11Systems...), r11Fuse()),
		judge:       judgeR11,
	}
}

// judgeR11 asks whether any cut loses a change that is claimed to be durable, and what the
// clients lose.
func judgeR11(ev *evidence) judgement {
	var parts []part
	for _, way := range []string{syncs.WayOSync, syncs.WayODsync} {
		for _, fs := range r11Systems {
			parts = append(parts, ev.r11Cut(way, fs)...)
		}
	}
	fuse := idOf(r11Fuse())
	for _, v := range []struct {
		name, what string
		keeps      bool
	}{
		{r11SyncPassed, "a client that passes O_SYNC on keeps what it acknowledged", true},
		{r11DsyncPassed, "a client that passes O_DSYNC on keeps what it acknowledged", true},
		{r11SyncDropped, "a client that drops O_SYNC loses acknowledged data", false},
		{r11DsyncDropped, "a client that drops O_DSYNC loses acknowledged data", false},
	} {
		if why := ev.failed(fuse); why != "" {
			parts = append(parts, lacking(v.what, why))
			continue
		}
		lost := ev.metric(fuse, v.name, r11LostBlocks).Median
		parts = append(parts, fact(v.what, v.keeps == (lost == 0), fmt.Sprintf("%.0f of %d blocks lost", lost, r11Blocks)))
	}
	if ev.failed(fuse) == "" {
		parts = append(parts, figureOf("a client that drops the flags, with an fsync after each write", fmt.Sprintf("%.0f of %d blocks lost", ev.metric(fuse, r11Fsync, r11LostBlocks).Median, r11Blocks)))
	}
	for _, fs := range []string{"CephFS, version 17 or newer", "JuiceFS"} {
		parts = append(parts, lacking("the flags keep what is said on "+fs, "a mount of "+fs))
	}
	return ruling(fmt.Sprintf("Shown by dropped writes: the local file systems are mounted on a device that logs every write and flush, and checked after %d power cuts for each kind of change. The FUSE clients have a disk that loses unflushed data and no page cache, so that the kernel leaves the flag to them. Metadata is that of the file: size, block map, times, mode and owner. The name belongs to the directory and does not count. O_DSYNC may keep more than it must. The report's Sync after a write with O_SYNC adds nothing to it.", r11Cuts), parts...)
}

// r11Cut asks whether a flag keeps on a file system what is said. A new name is metadata of
// its directory, not of the file.
func (ev *evidence) r11Cut(way, fs string) []part {
	id := idOf(r11Local(fs))
	what := way + " keeps data and the metadata needed to read it"
	if way == syncs.WayOSync {
		what = way + " keeps data and all metadata of the file"
	}
	if why := ev.failed(id); why != "" {
		return []part{lacking(what, fs+": "+why).under(fs)}
	}
	kept, shown, isKept := "", "", true
	for k := range power.SyncKinds {
		lost, cuts := ev.metric(id, way, lostMetric(k)).Median, ev.metric(id, way, cutsMetric(k)).Median
		if math.IsNaN(lost) || math.IsNaN(cuts) {
			continue
		}
		text := fmt.Sprintf("%v kept in all %.0f cuts, ", k, cuts)
		if lost > 0 {
			text = fmt.Sprintf("%v lost in %.0f of %.0f, ", k, lost, cuts)
		}
		if k <= power.HoleFilled || way == syncs.WayOSync && k != power.NewName {
			kept, isKept = kept+text, isKept && lost == 0
		} else {
			shown += text
		}
	}
	if kept == "" { // there was no round
		return []part{part{what: what}.untestable().under(fs)}
	}
	parts := []part{figureOf(way+", changes that it is not said to keep", strings.TrimSuffix(shown, ", ")).under(fs)}
	return append(parts, fact(what, isKept, strings.TrimSuffix(kept, ", ")).under(fs))
}
