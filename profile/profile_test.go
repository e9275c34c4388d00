package profile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/profile"
)

// full has a value in every field.
func full() *profile.Profile {
	return &profile.Profile{
		Schema: profile.Schema, Made: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		Dir: "/data", FileSystem: "ext4", Device: "/dev/vdb1",
		Read:   profile.Read{Random: "mapped", Sequential: "uncached", BufferSize: 1 << 20, Readahead: 2 << 20, Parallel: 16},
		Write:  profile.Write{Way: "direct", BufferSize: 1 << 20, Sync: "dsync"},
		WAL:    profile.WAL{Sync: "direct", MaxDelay: 100 * time.Microsecond, SegmentSize: 128 << 20},
		Create: profile.Create{Shards: 256, Goroutines: 8},
		Header: profile.Header{Strategy: "clone"},
		Figures: []profile.Figure{{
			For: "wal.sync", Load: "1 appender", Name: "direct", Value: 100, Lo: 90, Hi: 110, Unit: "ns",
			Ratio: 0.5, RatioLo: 0.4, RatioHi: 0.6, Verdict: "faster", Taken: true,
		}},
	}
}

func save(t *testing.T, dir string, p *profile.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Encode(&b); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, profile.FileName)
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRoundTrip(t *testing.T) {
	want := full()
	v := reflect.ValueOf(*want)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test leaves out field %s", v.Type().Field(i).Name)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{save(t, dir, want), dir} {
		got, err := profile.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// Settings that were not measured are left out of the file, so that its reader
// sees no zeros.
func TestZeroFieldsAreNotWritten(t *testing.T) {
	var b bytes.Buffer
	if err := new(profile.Profile).Encode(&b); err != nil {
		t.Fatal(err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(b.Bytes(), &parts); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"read", "write", "wal", "create", "header"} {
		if string(parts[part]) != "{}" {
			t.Errorf("%s: %s", part, parts[part])
		}
	}
	if string(parts["schema"]) != `"`+profile.Schema+`"` {
		t.Errorf("schema: %s", parts["schema"])
	}
}

func TestLoadRefuses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p.json")
	head := `{"schema":"` + profile.Schema + `",`
	for content, want := range map[string]string{
		"":                                     "not a profile",
		"hello":                                "not a profile",
		`[1]`:                                  "not a profile",
		`{}`:                                   "names no schema",
		`{"schema":"stele.run/1"}`:             `its schema is "stele.run/1"`,
		`{"schema":"stele.profile/2"}`:         "run stele tune again",
		head[:len(head)-1]:                     "not a profile", // cut off
		head + `"read":{"random":"sideways"}}`: `read.random: "sideways"`,
		head + `"read":{"sequential":"auto"}}`: `read.sequential: "auto"`,
		head + `"read":{"buffer_size":-1}}`:    "read.buffer_size: -1",
		head + `"read":{"readahead":-2}}`:      "read.readahead: -2",
		head + `"read":{"parallel":"many"}}`:   "parallel",
		head + `"write":{"way":"mapped"}}`:     `write.way: "mapped"`,
		head + `"write":{"sync":"sync_file_range"}}`: `write.sync: "sync_file_range"`, // promises less
		head + `"wal":{"sync":"fsync"}}`:             `wal.sync: "fsync"`,
		head + `"wal":{"max_delay_ns":-1}}`:          "wal.max_delay_ns: -1",
		head + `"wal":{"segment_size":-1}}`:          "wal.segment_size: -1",
		head + `"create":{"shards":-16}}`:            "create.shards: -16",
		head + `"header":{"strategy":"shift"}}`:      `header.strategy: "shift"`, // is not atomic
	} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Load(name)
		if err == nil || p != nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %+v, error %v, want %q in it", content, p, err, want)
		}
	}
}

func TestLoadMissing(t *testing.T) {
	dir := t.TempDir() // a directory without a profile
	for _, name := range []string{dir, filepath.Join(dir, "nowhere.json")} {
		if _, err := profile.Load(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file that is not a profile is not read whole, and not waited for.
func TestLoadOfHugeFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p.json")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	took := filetest.Allocated(func() { _, err = profile.Load(name) })
	if err == nil || !strings.Contains(err.Error(), name) {
		t.Error(err)
	}
	if took > 8<<20 {
		t.Errorf("a file of zeros took %d bytes of memory", took)
	}
	if _, err := profile.Load(os.DevNull); err == nil {
		t.Error("a device was taken for a profile")
	}
}

// Fields added by a later version do not prevent reading the others.
func TestLoadTakesNewFields(t *testing.T) {
	name := filepath.Join(t.TempDir(), "p.json")
	if err := os.WriteFile(name, []byte(`{"schema":"`+profile.Schema+`","wal":{"sync":"dsync","colour":"red"},"more":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Load(name)
	if err != nil || p.WAL.Sync != "dsync" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	p := full()
	p.WAL.Sync = "hope"
	var b bytes.Buffer
	if err := p.Encode(&b); err == nil || b.Len() > 0 {
		t.Errorf("error %v, wrote %q", err, b.String())
	}
}
