package env

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/measure/diskstat"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// Syncs has the cost of syncing a file in a directory, the requests that a sync causes at
// the devices beneath, and the verdict on them.
type Syncs struct {
	Verdict string    `json:"verdict"` // one of Honest, NotHonest and CannotTell
	Why     []string  `json:"why,omitempty"`
	Ways    []SyncWay `json:"ways"`
	// Caps are conditions for which less survives a power cut even of honest syncs.
	Caps []run.Cap `json:"caps,omitempty"`
	// Known says how this kind of mount is known to sync, and names the source.
	Known string `json:"known,omitempty"`
	// Unseen are things that decide whether data survive and that no program on this
	// machine can see.
	Unseen []string `json:"unseen"`
}

// Verdicts of Syncs.
const (
	Honest     = "honest"      // each sync reached every device that could be watched
	NotHonest  = "not honest"  // a layer takes syncs and does not do them
	CannotTell = "cannot tell" // the effect of a sync is out of sight
)

// A SyncWay is one way of making 4 KiB of an existing file durable; "write" is the same
// without.
type SyncWay struct {
	Name string `json:"name"` // "write", "fsync", "fdatasync", "O_SYNC" or "O_DSYNC"
	// Time of one write with its sync, in nanoseconds.
	Time run.Estimate `json:"time_ns"`
	// Devices are those beneath, from the top, with the requests that one write with its
	// sync caused there: the least of all rounds, so that other programs' requests count
	// for little.
	Devices []DeviceRequests `json:"devices,omitempty"`
	Error   string           `json:"error,omitempty"` // why it could not be measured
}

// DeviceRequests are the requests that a device completed for one write.
type DeviceRequests struct {
	Device     string  `json:"device"`
	WriteCache string  `json:"write_cache,omitempty"` // as the device says: "write back" is a volatile one
	Writes     float64 `json:"writes_per_op"`
	Flushes    float64 `json:"flushes_per_op"`
	// NoFlushes is why Flushes has no meaning, or empty.
	NoFlushes string `json:"no_flushes,omitempty"`
}

const (
	syncRounds   = 6
	syncsARound  = 20
	syncRoundMax = 250 * time.Millisecond // and at least two syncs
	syncFileSize = 256 * syncPage
	syncPage     = 4096
)

// syncWays are the ways in the order of a round. The plain write comes last, and its
// data are synced before the next round.
var syncWays = []struct {
	name  string
	flags int
	sync  func(f *os.File) error
}{
	{"fsync", 0, (*os.File).Sync},
	{"fdatasync", 0, fileop.Fdatasync},
	{"O_SYNC", os.O_SYNC, nil},
	{"O_DSYNC", fileop.DataSync, nil},
	{"write", 0, nil},
}

// ProbeSyncs measures for some seconds the cost of syncing a file in dir, whose environment
// is e, and watches the devices beneath. It works on files of its own of a megabyte each,
// and removes them. Only a power cut proves that a sync is done; ProbeSyncs finds syncs
// that are not done.
func ProbeSyncs(dir string, e *run.Environment) (*Syncs, error) {
	own, err := os.MkdirTemp(dir, "stele-probe-")
	if err != nil {
		return nil, fmt.Errorf("env: probe syncs: make a directory in %s: %w", dir, err)
	}
	defer os.RemoveAll(own)
	s := &Syncs{Caps: run.CapsOf(e), Known: known(e)}
	p := syncProbe{disks: watched(e)}
	for range syncRounds {
		for i := range syncWays {
			if err := p.round(own, i); err != nil {
				return nil, fmt.Errorf("env: probe syncs: %w", err)
			}
		}
	}
	for i := range p.ways {
		s.Ways = append(s.Ways, p.ways[i].result(syncWays[i].name))
	}
	s.judge(e)
	s.Unseen = unseen(e)
	return s, os.RemoveAll(own)
}

// watched returns the devices under a directory, from the top. Where a program or a server
// keeps the files they are all disks of this machine: a sync may reach one of them.
func watched(e *run.Environment) []*diskstat.Disk {
	var names []string
	add := func(list ...string) {
		for _, n := range list {
			if n != "" {
				names = addWord(names, n)
			}
		}
	}
	if e.Device == "" && !inMemory(e.FS) {
		found, _ := filepath.Glob("/sys/block/*/device") // which memory and loop devices lack
		for _, f := range found {
			add("/dev/" + filepath.Base(filepath.Dir(f)))
		}
	}
	add(e.Device)
	add(e.Disks...)
	for _, l := range e.Lower {
		add(l.Device)
		add(l.Disks...)
	}
	var disks []*diskstat.Disk
	for _, n := range names {
		if d, err := diskstat.Named(n); err == nil {
			disks = append(disks, d)
		}
	}
	return disks
}

type syncProbe struct {
	disks []*diskstat.Disk
	ways  [5]wayData
}

// wayData gathers the rounds of one way.
type wayData struct {
	times []float64 // ns
	least []DeviceRequests
	err   error
}

// round does some writes by way number i.
func (p *syncProbe) round(dir string, i int) error {
	w, data := syncWays[i], &p.ways[i]
	if data.err != nil {
		return nil
	}
	f, err := p.open(filepath.Join(dir, w.name), w.flags)
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			return err
		}
		data.err = err
		return nil
	}
	defer f.Close()
	before := p.stats()
	n := 0
	for begun := time.Now(); n < 2 || n < syncsARound && time.Since(begun) < syncRoundMax; n++ {
		page := []byte(strings.Repeat(string(rune('a'+len(data.times)%26)), syncPage))
		at := time.Now()
		_, err := f.WriteAt(page, int64(len(data.times)%256)*syncPage)
		if err == nil && w.sync != nil {
			err = w.sync(f)
		}
		if err != nil {
			data.err = err
			return nil
		}
		data.times = append(data.times, float64(time.Since(at)))
	}
	data.note(p.disks, before, p.stats(), n)
	if w.name == "write" {
		return f.Sync()
	}
	return nil
}

// open opens the file of a way, which is written once and synced, so that later writes
// change data only.
func (p *syncProbe) open(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if fi, err := f.Stat(); err != nil || fi.Size() == syncFileSize {
		return f, err
	}
	if _, err := f.WriteAt(make([]byte, syncFileSize), 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, f.Sync()
}

func (p *syncProbe) stats() []diskstat.Stat {
	list := make([]diskstat.Stat, len(p.disks))
	for i, d := range p.disks {
		list[i], _ = d.Stat() // it could be read before
	}
	return list
}

// note keeps the least that a device did for a write in any round.
func (w *wayData) note(disks []*diskstat.Disk, before, after []diskstat.Stat, n int) {
	if w.least == nil {
		for i, d := range disks {
			w.least = append(w.least, DeviceRequests{
				Device: "/dev/" + d.Name, WriteCache: d.WriteCache(), NoFlushes: after[i].NoFlushes, Writes: 1e9, Flushes: 1e9,
			})
		}
	}
	for i := range disks {
		least := &w.least[i]
		least.Writes = min(least.Writes, float64(after[i].Writes-before[i].Writes)/float64(n))
		least.Flushes = min(least.Flushes, float64(after[i].Flushes-before[i].Flushes)/float64(n))
	}
}

func (w *wayData) result(name string) SyncWay {
	r := SyncWay{Name: name, Devices: w.least}
	if w.err != nil {
		r.Error = w.err.Error()
		r.Devices = nil
		return r
	}
	m := stats.Median(w.times, 0.95)
	r.Time = run.Estimate{Median: m.Value, Lo: m.Lo, Hi: m.Hi, Confidence: m.Confidence, N: m.N}
	return r
}
