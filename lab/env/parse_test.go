package env

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestParseCPUInfo(t *testing.T) {
	for _, c := range []struct {
		in   string
		want cpuInfo
	}{
		{"processor\t: 0\nmodel name\t: X 1\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\nmodel name\t: Y\nflags\t: fpu\n", cpuInfo{"X 1", true}},
		{"model name\t: X\nflags\t: fpu nohypervisor\n", cpuInfo{"X", false}},
		{"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", cpuInfo{"implementer 0x41 part 0xd0c", false}},
		{"cpu\t\t: POWER9\n", cpuInfo{"POWER9", false}},
		{"", cpuInfo{}},
	} {
		if got := parseCPUInfo(c.in); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.in, got, c.want)
		}
	}
}

func TestParseCPUList(t *testing.T) {
	for in, want := range map[string]int{"0": 1, "0-3": 4, "0-1,4,6-7\n": 5} {
		if n, err := parseCPUList(in); err != nil || n != want {
			t.Errorf("%q: %d %v", in, n, err)
		}
	}
	for _, in := range []string{"", "a", "3-1", "0-", "-1", "0,,1", "0-99999999"} {
		if n, err := parseCPUList(in); err == nil {
			t.Errorf("%q: %d, want an error", in, n)
		}
	}
}

func TestParseMemTotal(t *testing.T) {
	if n, err := parseMemTotal("MemFree: 1 kB\nMemTotal:       24684084 kB\n"); err != nil || n != 24684084<<10 {
		t.Errorf("%d %v", n, err)
	}
	for _, in := range []string{"", "MemFree: 1 kB\n", "MemTotal: x kB\n", "MemTotal: -5 kB\n", "MemTotal: 9223372036854775807 kB\n"} {
		if n, err := parseMemTotal(in); err == nil {
			t.Errorf("%q: %d, want an error", in, n)
		}
	}
}

func TestParseLoad(t *testing.T) {
	if v, err := parseLoad("0.75 0.50 0.25 1/100 1234"); err != nil || v != 0.75 {
		t.Errorf("%v %v", v, err)
	}
	for _, in := range []string{"", "x 1 2", "NaN", "-1 0 0", "+Inf"} {
		if v, err := parseLoad(in); err == nil {
			t.Errorf("%q: %v, want an error", in, v)
		}
	}
}

func TestCPUTimes(t *testing.T) {
	a, err := parseCPUTimes("cpu  100 10 50 1000 20 1 2 5 7 8\ncpu0 1 2 3\n")
	if err != nil || a != (cpuTimes{busy: 163, idle: 1000, iowait: 20, steal: 5}) {
		t.Fatalf("%+v %v", a, err)
	}
	b, _ := parseCPUTimes("cpu  120 10 50 1060 30 1 2 15 7 8\n")
	busy, wait, steal, err := b.since(a)
	if err != nil || busy != 0.2 || wait != 0.1 || steal != 0.1 {
		t.Errorf("%v %v %v %v", busy, wait, steal, err)
	}
	// iowait may step back.
	c := cpuTimes{busy: a.busy + 1, idle: a.idle + 1, iowait: a.iowait - 3, steal: a.steal}
	if busy, wait, _, err := c.since(a); err != nil || busy != 0.5 || wait != 0 {
		t.Errorf("%v %v %v", busy, wait, err)
	}
	if _, _, _, err := a.since(a); err == nil {
		t.Error("no time passed: no error")
	}
	for _, in := range []string{"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x"} {
		if got, err := parseCPUTimes(in); err == nil {
			t.Errorf("%q: %+v, want an error", in, got)
		}
	}
}

func TestParseScheduler(t *testing.T) {
	for in, want := range map[string]string{
		"none [mq-deadline] kyber bfq\n": "mq-deadline",
		"[none]":                         "none",
		"none\n":                         "none",
		"[broken":                        "[broken",
		"":                               "",
	} {
		if got := parseScheduler(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestParseExt4Journal(t *testing.T) {
	for in, want := range map[string]string{
		"rw\nbarrier\ndata=ordered\n":   "ordered",
		"data=writeback":                "writeback",
		"rw\nbarrier\ndata_err=abort\n": "none",
		"":                              "none",
	} {
		if got := parseExt4Journal(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestOptionSet(t *testing.T) {
	for in, want := range map[string][]string{
		"rw,relatime,rw":                {"rw", "relatime"},
		"":                              nil,
		",,a,":                          {"a"},
		`rw,context="a,b",seclabel`:     {"rw", `context="a,b"`, "seclabel"},
		"rw,upperdir=/x,lowerdir=/a:/b": {"rw", "upperdir=/x", "lowerdir=/a:/b"},
	} {
		if got := run.MountOptions(in); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if v, ok := option("rw,upperdir=/x", "upperdir"); !ok || v != "/x" {
		t.Errorf("%q %v", v, ok)
	}
	if hasOption("rw,nobarriers", "nobarrier") || !hasOption("rw,nobarrier", "nobarrier") {
		t.Error("hasOption")
	}
}

// Whatever a kernel of tomorrow writes into its files, no parser may panic
// or make up a figure that cannot be.
func FuzzParsers(f *testing.F) {
	f.Add("model name\t: X\nflags : hypervisor\n")
	f.Add("0-3,5")
	f.Add("MemTotal: 5 kB\n")
	f.Add("0.5 1 2 3/4 5")
	f.Add("cpu  1 2 3 4 5 6 7 8 9 10\n")
	f.Add("none [x] y")
	f.Add("DEVNAME=sda\ndata=ordered\n")
	f.Add(`a="b,c",d`)
	f.Fuzz(func(t *testing.T, s string) {
		parseCPUInfo(s)
		if n, err := parseCPUList(s); err == nil && n <= 0 {
			t.Errorf("list %q: %d", s, n)
		}
		if n, err := parseMemTotal(s); err == nil && n < 0 {
			t.Errorf("memory %q: %d", s, n)
		}
		if v, err := parseLoad(s); err == nil && !(v >= 0 && v < math.Inf(1)) {
			t.Errorf("load %q: %v", s, v)
		}
		if a, err := parseCPUTimes(s); err == nil {
			for _, base := range []cpuTimes{{}, {busy: 5, iowait: 1 << 63}} {
				if busy, wait, steal, err := a.since(base); err == nil {
					for _, v := range []float64{busy, wait, steal} {
						if !(v >= 0 && v <= 1) {
							t.Errorf("share %v of %q", v, s)
						}
					}
				}
			}
		}
		parseScheduler(s)
		parseUevent(s)
		if m := parseExt4Journal(s); m != "none" && !strings.Contains(s, "data="+m) {
			t.Errorf("journal %q of %q", m, s)
		}
		for _, o := range run.MountOptions(s) {
			if o == "" || !strings.Contains(s, o) {
				t.Errorf("option %q of %q", o, s)
			}
		}
	})
}
