package claims

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// onImage puts a place on an image in a directory.
func (m *made) onImage(dir string) *made {
	m.place.Environment.Backing, m.place.Environment.BackingFS = dir+"/"+m.place.Name+"/image", "ext4"
	return m
}

func TestJudgeD3(t *testing.T) {
	c := claimD3()
	at := func(fs string, create, traced float64) *made {
		return in(fs, fs).onImage("/images").all(&c, func(_ *lab.Experiment, v string) float64 {
			if v == variantOpen {
				return 2000
			}
			return create
		}).each(func(_ *run.Result, v *run.VariantResult) { v.Metrics[straceMean] = suitetest.About(traced) })
	}
	xfs := at("xfs", 5600, 50_000)
	expect(t, "as claimed", judge(t, &c, at("ext4", 8200, 73_200), xfs), Holds)
	expect(t, "both alike", judge(t, &c, at("ext4", 5600, 50_000), xfs), DoesNotHold)
	expect(t, "hidden by strace", judge(t, &c, at("ext4", 8200, 50_000), xfs), Depends)
	expect(t, "on the limit", judge(t, &c, at("ext4", 5600*8.2/5.6*0.9, 73_200), xfs), CannotTell)
	got := judge(t, &c, at("ext4", 8200, 73_200))
	expect(t, "ext4 only", got, CannotTest)
	if !strings.Contains(got.Why, "xfs") || !strings.Contains(got.Measured, "8200 ns") {
		t.Errorf("want what is missing and what there is: %s; %s", got.Why, got.Measured)
	}
	got = judge(t, &c, at("ext4", 8200, 73_200), xfs.onImage("/elsewhere"))
	expect(t, "two devices", got, CannotTest)
	if !strings.Contains(got.Why, "one device") {
		t.Errorf("want what is missing: %s", got.Why)
	}
}

// What slows both file systems down in a round does not widen the interval.
func TestBetweenPlaces(t *testing.T) {
	of := func(ns float64) *evidence {
		r := &run.Result{ID: "e", Variants: []run.VariantResult{{Name: "v", Time: suitetest.Wide(ns, 0.5)}}}
		for round := range 8 {
			slower := float64(1 + round%4)
			r.Blocks = append(r.Blocks, run.Block{Variant: "v", Role: run.RoleTimed, Round: round + 1, Ops: 10, Wall: run.Nanos(10 * ns * slower),
				Metrics: map[string]float64{"m": ns * ns * slower}})
		}
		return &evidence{results: map[string]*run.Result{"e": r}}
	}
	if e := betweenPlaces(of(3000), of(2000), "e", "v", ""); e.Lo != 1.5 || e.Hi != 1.5 || e.N != 8 {
		t.Errorf("the time is %+v, want exactly 1.5 of 8 rounds", e)
	}
	if e := betweenPlaces(of(4000), of(2000), "e", "v", "m"); e.Lo != 4 || e.Hi != 4 {
		t.Errorf("the metric is %+v, want exactly 4", e)
	}
}

func TestSameDisk(t *testing.T) {
	dev := func(d string) run.Environment { return run.Environment{Device: d} }
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"/dev/sda1", "/dev/sda2", true}, {"/dev/sda1", "/dev/sdb1", false}, {"/dev/nvme0n1p1", "/dev/nvme0n1p2", true},
		{"/dev/nvme0n1p1", "/dev/nvme1n1p1", false}, {"/dev/vdb", "/dev/vdb", true}, {"/dev/loop1", "/dev/loop2", false},
		{"/dev/dm-1", "/dev/dm-2", false}, {"", "", false},
	} {
		if got := sameDisk(dev(c.a), dev(c.b)) == ""; got != c.same {
			t.Errorf("%s and %s: the same disk: %v", c.a, c.b, got)
		}
	}
}

func TestStraceTimes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	text := "7 openat(AT_FDCWD, \"f0\", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = 3 <0.000020>\n" +
		"7 openat(AT_FDCWD, \"/proc/x\", O_RDONLY) = 3 <0.5>\n" +
		"8 openat(AT_FDCWD, \"f1\", O_WRONLY|O_CREAT <unfinished ...>\n" +
		"7 openat(AT_FDCWD, \"f2\", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = 4 <0.000040>\n"
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := straceTimes(name); err != nil || got < 29_999 || got > 30_001 {
		t.Errorf("got %v, %v; want 30 us", got, err)
	}
}
