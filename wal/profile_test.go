package wal

import (
	"os"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/profile"
)

// Each field of a profile sets an option that is zero, at the level it was
// measured for.
func TestProfileFills(t *testing.T) {
	p := &profile.Profile{WAL: profile.WAL{Sync: "dsync", MaxDelay: time.Millisecond, SegmentSize: 128 << 10}}
	for _, c := range []struct {
		name    string
		in      Options
		sync    Mechanism
		delay   time.Duration
		segment int64
	}{
		{"nothing set", Options{Profile: p}, SyncDsync, time.Millisecond, 128 << 10},
		{"an empty profile", Options{Profile: new(profile.Profile)}, SyncAuto, 0, defaultSegmentSize},
		{"all set", Options{Sync: SyncFdatasync, MaxDelay: 1, SegmentSize: 64 << 10, Profile: p}, SyncFdatasync, 1, 64 << 10},
		{"level kill", Options{Level: durability.Kill, Profile: p}, SyncAuto, 0, 128 << 10},
		{"level none", Options{Level: durability.None, Profile: p}, SyncAuto, 0, 128 << 10},
	} {
		o, err := c.in.fill()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if o.Sync != c.sync || o.MaxDelay != c.delay || o.SegmentSize != c.segment {
			t.Errorf("%s: %q, %v, %d bytes; want %q, %v, %d", c.name, o.Sync, o.MaxDelay, o.SegmentSize, c.sync, c.delay, c.segment)
		}
	}
}

// A profile of another disk may name a mechanism that the file system lacks.
// Then the log chooses one; one named by Options is refused.
func TestProfileOfAnotherDisk(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "stele-wal-*")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := Options{SegmentSize: 64 << 10, Sync: SyncDirect}
	if l, err := Open(dir, o); err == nil {
		l.Close()
		t.Skip("there is direct I/O in /dev/shm")
	}
	o.Sync, o.Profile = SyncAuto, &profile.Profile{WAL: profile.WAL{Sync: "direct"}}
	l, err := Open(dir, o)
	needPower(t, err)
	if err != nil {
		t.Fatal(err)
	}
	if m := l.Stats().Mechanism; m == SyncDirect || m == SyncAuto {
		t.Errorf("the mechanism is %q", m)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
