package run

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func sample() Environment {
	return Environment{
		Hostname: "a", OS: "linux", Arch: "amd64", Kernel: "6.18", CPU: "X", CPUs: 2, Memory: 1000 << 20, Go: "go1.26",
		GOMAXPROCS: 2, Dir: "/x", FS: "ext4", Mount: "/x", Options: "rw,relatime,size=5k", Journal: "ordered",
		Device: "/dev/loop0", DeviceID: "7:0", FreeBytes: 5, TotalBytes: 9,
	}
}

func TestDiff(t *testing.T) {
	if d := sample().Diff(sample()); len(d) != 0 {
		t.Errorf("of one with itself: %+v", d)
	}
	for _, c := range []struct {
		name   string
		change func(e *Environment)
		want   []Difference
	}{
		{"kernel", func(e *Environment) { e.Kernel = "6.19" }, []Difference{{"kernel", "6.18", "6.19", true}}},
		{"journal", func(e *Environment) { e.Journal = "none" }, []Difference{{"journal", "ordered", "none", true}}},
		{"setting", func(e *Environment) { e.GoSettings = map[string]string{"GOGC": "off", "A": "b"} }, []Difference{{"go_settings", "", "A=b GOGC=off", true}}},
		{"no longer known", func(e *Environment) { e.CPU = "" }, []Difference{{"cpu", "X", "", true}}},
		{"memory, nearly", func(e *Environment) { e.Memory = 999 << 20 }, []Difference{{"memory_bytes", "1048576000", "1047527424", false}}},
		{"memory", func(e *Environment) { e.Memory = 2000 << 20 }, []Difference{{"memory_bytes", "1048576000", "2097152000", true}}},
		{"order and size in options", func(e *Environment) { e.Options = "relatime,rw,size=6k" }, nil},
		{"options", func(e *Environment) { e.Options = "rw,noatime" }, []Difference{{"mount_options", "relatime,rw", "noatime,rw", true}}},
		{
			"what matters comes first",
			func(e *Environment) { e.Dir = "/y"; e.Device = "/dev/loop7"; e.FreeBytes = 6; e.Load = 3; e.FS = "xfs" },
			[]Difference{{"fs", "ext4", "xfs", true}, {"dir", "/x", "/y", false}, {"device", "/dev/loop0", "/dev/loop7", false}, {"load1", "0.00", "3.00", false}, {"free_bytes", "5", "6", false}},
		},
	} {
		e := sample()
		c.change(&e)
		if got := sample().Diff(e); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", c.name, got, c.want)
		}
	}
}

// A field added to Environment must be compared, or be left out on purpose.
func TestDiffKnowsEveryField(t *testing.T) {
	known := map[string]bool{"unknown": true, "warnings": true}
	for _, f := range compared {
		known[f.name] = true
	}
	typ := reflect.TypeFor[Environment]()
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if !known[name] {
			t.Errorf("Diff does not look at %q", name)
		}
	}
}

func TestEnvironmentJSON(t *testing.T) {
	e := sample()
	e.Unknown = map[string]Reason{"model": {Code: ReasonNoModel, Text: "sda"}}
	e.Warnings = []Warning{{Code: WarnLoop, Text: "text"}}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back Environment
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, e) {
		t.Errorf("%+v %v", back, err)
	}
}
