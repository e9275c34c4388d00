package logstore

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Level: durability.None}, "logstore: Options.Level: none; want power or kill"},
		{Options{Level: 9}, "Options.Level: durability.Level(9); want power or kill"},
		{Options{SyncEvery: time.Second}, "logstore: Options.SyncEvery: 1s; want 0 at level power"},
		{Options{SyncEvery: -1, Level: durability.Kill}, "Options.SyncEvery: -1ns; want"},
		{Options{MaxLine: 1<<20 + 1}, "logstore: Options.MaxLine: 1048577 bytes; want 0 (the default) to 1048576"},
		{Options{MaxLine: -1}, "Options.MaxLine"},
		{Options{Retention: -1}, "Options.Retention"},
		{Options{RetainBytes: -1}, "Options.RetainBytes"},
		{Options{MinFree: -1}, "Options.MinFree"},
		{Options{Memory: 1 << 20}, "Options.Memory: 1048576 bytes; want 0 (the default), or 33554432 to 137438953472"},
		{Options{Memory: 256 << 30}, "Options.Memory: 274877906944 bytes; want 0 (the default), or 33554432 to 137438953472"},
		{Options{SealAge: -1}, "Options.SealAge"},
		{Options{SegmentSpan: -1}, "Options.SegmentSpan"},
		{Options{SegmentSize: 1}, "Options.SegmentSize: 1 byte; want 0"},
		{Options{Workers: -1}, "Options.Workers: -1"},
	} {
		dir := t.TempDir()
		if s, err := Open(dir, c.o); err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, fs.ErrInvalid) {
			s.Close()
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

func TestOpenWithoutTheProfile(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(dir, Options{Profile: "no such file"})
	if err == nil || !strings.Contains(err.Error(), "no such file") || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v; want an error that names the profile and %s", err, dir)
	}
}

func TestDefaults(t *testing.T) {
	o, err := Options{Workers: 3}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	want := Options{
		LateWindow: time.Hour, FutureWindow: 10 * time.Minute, MaxLine: 256 << 10, MaxStreams: 1 << 20, MaxTenants: 1 << 14, KeyWindow: 10 * time.Minute, Memory: 256 << 20,
		SealAge: 5 * time.Minute, SegmentSize: 256 << 20, SegmentSpan: 24 * time.Hour, Codec: defaultCodec, Workers: 3, BackgroundRate: 64 << 20,
	}
	got := o
	got.Clock, got.statfs = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if o, _ := (Options{Retention: 80 * time.Hour}).resolve(); o.SegmentSpan != 10*time.Hour || o.smallSpan() != 10*time.Hour {
		t.Errorf("segments of %s, and small ones of %s, are deleted after 80 hours", o.SegmentSpan, o.smallSpan())
	}
	if o, _ := (Options{Retention: 80 * 24 * time.Hour}).resolve(); o.SegmentSpan != 24*time.Hour || o.smallSpan() != 10*24*time.Hour {
		t.Errorf("segments of %s, and small ones of %s, are deleted after 80 days", o.SegmentSpan, o.smallSpan())
	}
	for retain, want := range map[int64]int64{1 << 20: 1 << 20, 160 << 20: 10 << 20, 1 << 40: 256 << 20} {
		if o, _ := (Options{RetainBytes: retain}).resolve(); o.SegmentSize != want {
			t.Errorf("with RetainBytes %d, SegmentSize is %d, want %d", retain, o.SegmentSize, want)
		}
	}
	for _, c := range []struct{ given, total, want int64 }{
		{0, 1 << 40, 1 << 30},
		{0, 10 << 30, 512 << 20},
		{1, 1 << 40, 1},
		{4 << 30, 1 << 30, 4 << 30},
	} {
		o := o
		if o.MinFree = c.given; o.minFree(c.total) != c.want {
			t.Errorf("MinFree %d on %d bytes: %d stay free, not %d", c.given, c.total, o.minFree(c.total), c.want)
		}
	}
	if n := o.reservedFree(); n != 192<<20 { // four files of the log, and memory
		t.Errorf("the store itself needs %d bytes free", n)
	}
	for memory, want := range map[int64]int64{32 << 20: 16 << 20, 256 << 20: 24 << 20, 512 << 20: 48 << 20, 1 << 40: 256 << 20} {
		if o := (Options{Memory: memory}); o.logSegment() != want {
			t.Errorf("with %d MiB of memory the log's files have %d MiB", memory>>20, o.logSegment()>>20)
		}
	}
}
