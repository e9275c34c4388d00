package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/lab/run"
)

func TestParseCPUs(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0,2-3": {0, 2, 3}, "3,1-2,2": {1, 2, 3}, " 1, 2": {1, 2}} {
		got, err := ParseCPUs(list)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", list, got, err, want)
		}
		if again, err := ParseCPUs(cpuList(got)); err != nil || !slices.Equal(again, want) {
			t.Errorf("%v is written %q", got, cpuList(got))
		}
	}
	for _, list := range []string{"", "a", "-1", "2-1", "1-", "0,,1", "99999"} {
		if got, err := ParseCPUs(list); err == nil || !strings.Contains(err.Error(), "want numbers and ranges such as 0,2-3") {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
}

// Of cores with two processors, the second one that the list has is found.
func TestSiblings(t *testing.T) {
	dir := t.TempDir()
	for cpu, with := range []string{"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"} {
		d := filepath.Join(dir, fmt.Sprintf("cpu%d", cpu), "topology")
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "thread_siblings_list"), []byte(with+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		cpus []int
		want [][2]int
	}{{[]int{0, 1, 2}, nil}, {[]int{0, 1, 4}, [][2]int{{0, 4}}}, {[]int{1, 2, 5, 6}, [][2]int{{1, 5}, {2, 6}}}, {[]int{0, 99}, nil}} {
		if got := siblings(c.cpus, dir); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.cpus, got, c.want)
		}
	}
	r := runner{o: Options{CPUs: []int{0, 1, 4}}, run: &run.Run{Places: []run.Place{{Environment: run.Environment{GOMAXPROCS: 8}}}}}
	r.notePinned(siblings(r.o.CPUs, dir))
	e := r.run.Places[0].Environment
	if e.Pinned != "0-1,4" || e.GOMAXPROCS != 3 || len(e.Warnings) != 1 || e.Warnings[0].Code != run.WarnSiblings || e.Warnings[0].Text != "0 and 4" {
		t.Errorf("%+v", e)
	}
}

// seenCPUs is an experiment whose blocks report the processors that they have.
func seenCPUs() Experiment {
	return Experiment{Suite: "test", Name: "cpus", Stateless: true, Variants: []Variant{{Name: "v", Promise: run.WritesNothing(), Run: func(b *B) error {
		b.Report("procs", float64(runtime.GOMAXPROCS(0)))
		list, err := procstat.AllowedCPUs()
		if err != nil {
			return err
		}
		cpus, err := ParseCPUs(list)
		if err != nil {
			return err
		}
		b.Report("first_cpu", float64(cpus[0]))
		b.Report("cpus", float64(len(cpus)))
		for b.Loop() {
			time.Sleep(10 * time.Microsecond)
		}
		return nil
	}}}}
}

// The process of a block runs on the processors that were asked for, and Go in it
// knows; this process is as before.
func TestCPUs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are pinned on Linux only")
	}
	list, err := procstat.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParseCPUs(list)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOMAXPROCS", "")
	last := all[len(all)-1]
	o := Options{Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 2, BlockTime: time.Millisecond, NoCalibration: true, NoCounting: true, CPUs: []int{last}}
	r, err := Measure(t.Context(), o, seenCPUs())
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Results[0].Variants[0]; v.Error != "" || v.Metrics["procs"].Median != 1 || v.Metrics["cpus"].Median != 1 || int(v.Metrics["first_cpu"].Median) != last {
		t.Errorf("pinned to %d: %s, %v", last, v.Error, v.Metrics)
	}
	if e := r.Places[0].Environment; e.Pinned != cpuList([]int{last}) || e.GOMAXPROCS != 1 {
		t.Errorf("pinned to %q, GOMAXPROCS %d", e.Pinned, e.GOMAXPROCS)
	}
	if now, err := procstat.AllowedCPUs(); err != nil || now != list {
		t.Errorf("this process had the processors %s, and now %s: %v", list, now, err)
	}
}

func TestCPUsRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are pinned on Linux only")
	}
	o := Options{Places: []PlaceSpec{{Dir: t.TempDir()}}}
	for want, set := range map[string]func(){
		"want processors that are online and in the cgroup of this process: not 1020": func() { o.CPUs = []int{0, 1020} },
		"in ascending order": func() { o.CPUs = []int{1, 0} },
		"not InProcess":      func() { o.CPUs, o.InProcess = []int{0}, true },
	} {
		o.InProcess = false
		set()
		if _, err := Measure(t.Context(), o, seenCPUs()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", o.CPUs, err, want)
		}
	}
}
