package env

import (
	"fmt"
	"time"

	"github.com/stele-go/stele/lab/run"
)

const (
	// diskLimit is less than any disk takes for a request: the kernel alone takes some
	// microseconds for one.
	diskLimit = 5 * time.Microsecond
	// programLimit is about the time of one request to a FUSE program. A program that
	// makes data durable in less time, and writes to no disk of this machine, would have
	// to reach another machine in that time.
	programLimit = 100 * time.Microsecond
	// someRequests is the share of syncs that must have caused a request. A sync causes
	// one at least; the share leaves room for a counter read a moment early.
	someRequests = 0.5
)

// judge sets Verdict and Why from the measurements and the mounts.
func (s *Syncs) judge(e *run.Environment) {
	s.Verdict, s.Why = Honest, nil
	not := func(format string, args ...any) {
		s.Verdict, s.Why = NotHonest, append(s.Why, fmt.Sprintf(format, args...))
	}
	cannot := func(format string, args ...any) {
		if s.Verdict != NotHonest {
			s.Verdict, s.Why = CannotTell, append(s.Why, fmt.Sprintf(format, args...))
		}
	}
	for _, c := range s.Caps {
		if text := refuses(c); text != "" {
			not("%s: %s", c.On, text)
		}
	}
	if s.Verdict == NotHonest {
		return
	}
	out := outOfSight(s.Caps)
	for _, w := range s.Ways {
		switch {
		case w.Name == "write":
		case w.Error != "":
			cannot("%s could not be measured: %s", w.Name, w.Error)
		case out:
			if text := w.tooFast(e.FS); text != "" {
				not("%s", text)
			}
		default:
			for _, text := range w.lies() {
				not("%s", text)
			}
		}
	}
	switch {
	case out:
		cannot("%s: another program or machine answers a sync, out of sight from here", e.FS)
	case len(s.Ways) == 0 || len(s.Ways[0].Devices) == 0:
		cannot("no device under %s can be watched", e.Dir)
	default:
		for _, text := range s.Ways[0].uncounted() {
			cannot("%s", text)
		}
	}
}

// refuses says why a condition alone makes syncs worth nothing, or "".
func refuses(c run.Cap) string {
	switch c.Code {
	case run.CapMemory:
		return "the files are in memory, and a sync does nothing"
	case run.CapNoBarrier:
		return "mounted so that a sync does not flush the disk's write cache"
	case run.CapVolatile:
		return "a volatile overlay drops every sync"
	case run.CapNoSync:
		return "the file system takes a sync and does nothing"
	}
	return ""
}

// outOfSight reports whether a server or a program keeps the files.
func outOfSight(caps []run.Cap) bool {
	for _, c := range caps {
		if c.Doubt() {
			return true
		}
	}
	return false
}

// lies names the devices that a sync should have reached or flushed, and did not.
func (w SyncWay) lies() (texts []string) {
	took := time.Duration(w.Time.Median)
	for _, d := range w.Devices {
		switch {
		case d.Writes+d.Flushes < someRequests:
			texts = append(texts, fmt.Sprintf("%s: a write with it causes no request at %s: a layer above drops it", w.Name, d.Device))
		case d.WriteCache == "write back" && d.NoFlushes == "" && d.Flushes < someRequests:
			texts = append(texts, fmt.Sprintf("%s: the data are written to %s and stay in its write cache, which is not flushed", w.Name, d.Device))
		}
	}
	if len(w.Devices) > 0 && took < diskLimit {
		texts = append(texts, fmt.Sprintf("%s: a write with it takes %v, and no disk answers in less than %v", w.Name, took, diskLimit))
	}
	return texts
}

// tooFast says that a program or a server answers a sync sooner than it can have done it.
func (w SyncWay) tooFast(fs string) string {
	took := time.Duration(w.Time.Median)
	for _, d := range w.Devices {
		if d.Writes+d.Flushes >= someRequests {
			return "" // it may be this program's doing
		}
	}
	if took >= programLimit {
		return ""
	}
	return fmt.Sprintf("%s: %s answers a write with it in %v, while no disk of this machine is written: it has not reached any other in that time", w.Name, fs, took)
}

// uncounted are the devices with a volatile cache whose flushes nobody counts, where no
// device beneath shows them.
func (w SyncWay) uncounted() (texts []string) {
	for _, d := range w.Devices {
		if d.NoFlushes == "" {
			return nil // the flush came through to here
		}
		if d.WriteCache == "write back" {
			texts = append(texts, d.NoFlushes)
		}
	}
	return texts
}

// unseen are things that decide and that cannot be seen from here.
func unseen(e *run.Environment) []string {
	list := []string{"the power cut itself"}
	if e.Device != "" {
		list = append(list, "the drive's firmware: one that answers a flush and keeps the data in memory looks like a fast drive",
			"a RAID controller's cache: it survives a power cut only with a battery or a capacitor that works")
	}
	if e.Virtual != "" {
		list = append(list, fmt.Sprintf("the host of this %s: a disk attached with the cache mode unsafe drops flushes, and one that says %q may be cached by the host all the same", e.Virtual, "write through"))
	}
	if run.RemoteFS(e.FS) {
		list = append(list, "the server: when it has data on its own disks, and how many of them")
	}
	if e.FS == "zfs" {
		list = append(list, "the property sync of the dataset: disabled drops every sync (zfs get sync)")
	}
	if e.Device != "" || len(e.Lower) > 0 {
		list = append(list, "requests of other programs: a device counts those of all, so on a busy one they may stand for a sync that caused none")
	}
	return list
}
