package claims

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// With nothing measured no rule may give a verdict, or a figure.
func TestCreationCostWithoutResults(t *testing.T) {
	for _, c := range creationCostClaims() {
		got := judge(t, &c, in("d", "ext4"))
		expect(t, "nothing", got, CannotTest)
		if strings.ContainsAny(got.Measured, "0123456789") {
			t.Errorf("%s shows figures of nothing: %s", c.ID, got.Measured)
		}
	}
}

// byVariant makes up times of variants, 100 us where none is given.
func byVariant(times map[string]float64) func(*lab.Experiment, string) float64 {
	return func(e *lab.Experiment, v string) float64 {
		for _, key := range []string{e.Name + "/" + v, v} {
			if t, ok := times[key]; ok {
				return t
			}
		}
		return 100_000
	}
}

// tails gives each variant two hands full of blocks whose operations all took
// as long as its p99 is to be.
func (m *made) tails(ns func(r *run.Result, v *run.VariantResult) float64) *made {
	return m.each(func(r *run.Result, v *run.VariantResult) {
		for range 10 {
			h := run.NewHistogram()
			for range 300 {
				h.Record(int64(ns(r, v)))
			}
			r.Blocks = append(r.Blocks, run.Block{Variant: v.Name, Role: run.RoleTimed, Latency: h})
		}
	})
}

// Without an interval no p99 decides anything, and blocks of few operations
// have none.
func TestTail(t *testing.T) {
	block := func(role string, n int, ns int64) run.Block {
		h := run.NewHistogram()
		for range n {
			h.Record(ns)
		}
		return run.Block{Variant: "v", Role: role, Latency: h}
	}
	look := func(blocks ...run.Block) (run.Estimate, string) {
		f := &found{results: map[string]*run.Result{"e": {Variants: []run.VariantResult{{Name: "v"}}, Blocks: blocks}}}
		return f.tail("e", "v")
	}
	if e, why := look(block(run.RoleTimed, 300, 1000), block(run.RoleCalibration, 300, 9000)); why != "" || !(e.Median >= 1000 && e.Median < 1010) || atLeast(e, 1) != cannotTell {
		t.Errorf("one block gives %+v, %q; want a figure without an interval", e, why)
	}
	var ten []run.Block
	for i := range 10 {
		ten = append(ten, block(run.RoleTimed, 300, 1000+10*int64(i)))
	}
	if e, why := look(ten...); why != "" || e.Lo < 1000 || e.Hi > 1100 || !(e.Lo < e.Hi) {
		t.Errorf("ten blocks give %+v, %q; want an interval", e, why)
	}
	if _, why := look(append(ten, block(run.RoleTimed, 298, 1000))...); !strings.Contains(why, "298") {
		t.Errorf("a block of 298 operations is refused by %q", why)
	}
	if _, why := look(); why == "" {
		t.Error("a p99 of nothing")
	}
}

func TestJudgeC1(t *testing.T) {
	c := claimC1()
	of := func(coded, distinct float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, byVariant(map[string]float64{
			nameOne: 1000, "C1-coded/" + nameMany: 1000 * coded, "C1-distinct/" + nameMany: 1000 * distinct,
		})))
	}
	expect(t, "as claimed", of(6.6, 7), Holds)
	expect(t, "neither", of(1.5, 2), DoesNotHold)
	expect(t, "faster", of(0.5, 0.6), DoesNotHold)
	expect(t, "one reading", of(2, 7), Depends)
	expect(t, "on the limit", of(210.0/32*0.9, 7), CannotTest)
}

func TestJudgeC3(t *testing.T) {
	c := claimC3()
	made := func(unnamed, linked, off float64) *made {
		return in("d", "ext4").all(&c, byVariant(map[string]float64{
			variantNamed: 210_000, variantUnnamed: 210_000 / unnamed, variantGivenOne: 210_000 / linked,
			variantCheckOn: 210_000, variantCheckOff: 210_000 / off,
		}))
	}
	of := func(unnamed, linked, off float64) run.Claim { return judge(t, &c, made(unnamed, linked, off)) }
	expect(t, "as claimed", of(15, 15, 2.4), Holds)
	expect(t, "nothing", of(1.2, 0.9, 1), DoesNotHold)
	expect(t, "without a name only", of(15, 1, 1), Depends)
	expect(t, "on the limit", of(210/14.5*0.9, 15, 2.4), CannotTest)

	m := made(1.2, 0.9, 1)
	for i := range m.results[1].Variants {
		m.results[1].Variants[i].Error = "only root can mount"
	}
	got := judge(t, &c, m)
	expect(t, "no root", got, CannotTest)
	if !strings.Contains(got.Why, "only root can mount") || !strings.Contains(got.Measured, "O_TMPFILE") {
		t.Errorf("want what is missing and what was measured: %s; %s", got.Why, got.Measured)
	}
}

func TestJudgeC4(t *testing.T) {
	c := claimC4()
	of := func(empty, full float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			variantNamed: 210_000, variantSyncPool: 210_000 / empty, variantFullPool: 210_000 / full,
		}))
		m.each(func(_ *run.Result, v *run.VariantResult) { v.Metrics["files_made"] = suitetest.About(8) })
		return judge(t, &c, m)
	}
	expect(t, "as claimed", of(23, 40), Holds)
	expect(t, "neither", of(3, 4), DoesNotHold)
	expect(t, "filled only", of(3, 40), Depends)
	expect(t, "on the limit", of(210/9.2*0.9, 40), CannotTest)
}

func TestJudgeC5(t *testing.T) {
	c := claimC5()
	// write and create are ext4's and btrfs's times as shares of the claim.
	at := func(fs string, share float64) *made {
		mean, tail := c5Claimed(fs)
		if fs == "xfs" {
			share = 1
		}
		return in(fs, fs).all(&c, byVariant(map[string]float64{
			variantSetAside: mean * share, variantGrowing: mean * share, variantCreated: mean * share,
		})).tails(func(*run.Result, *run.VariantResult) float64 { return tail * share * 1e6 })
	}
	three := func(share float64) []*made { return []*made{at("ext4", share), at("xfs", share), at("btrfs", share)} }
	expect(t, "as claimed", judge(t, &c, three(1.05)...), Holds)
	expect(t, "others", judge(t, &c, three(0.3)...), DoesNotHold)
	mixed := three(1)
	mixed[2] = at("btrfs", 3)
	expect(t, "ext4 only", judge(t, &c, mixed...), Depends)
	expect(t, "on the limit", judge(t, &c, three(1.25)...), CannotTest)

	got := judge(t, &c, at("ext4", 1), at("xfs", 1))
	expect(t, "no btrfs", got, CannotTest)
	if !strings.Contains(got.Why, "btrfs") {
		t.Errorf("not named: %s", got.Why)
	}
	few := three(1)
	for _, r := range few[0].results {
		r.Blocks[0].Latency = run.NewHistogram()
	}
	got = judge(t, &c, few...)
	expect(t, "no p99", got, CannotTest)
	if !strings.Contains(got.Measured, "at least 299 samples") {
		t.Errorf("not named: %s", got.Measured)
	}
}

func TestJudgeC9(t *testing.T) {
	c := claimC9()
	latency := map[string]float64{nameRing(512): 18_300, nameRing(1024): 22_700, nameRing(2048): 41_900}
	of := func(gain, overflow float64, latencies bool) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			nameRing(512): 10_000, nameRing(1024): 10_000 / gain, nameRing(2048): 10_000 / gain,
		}))
		m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics[answerTime] = suitetest.About(10_000_000)
			if latencies {
				v.Metrics[answerTime] = suitetest.About(latency[v.Name])
			}
			v.Metrics[overflowShare] = suitetest.About(overflow)
			if v.Name == nameRing(512) {
				v.Metrics[overflowShare] = suitetest.About(0.0002)
			}
		})
		return judge(t, &c, m)
	}
	expect(t, "as claimed", of(1.16, 0, true), Holds)
	expect(t, "no gain", of(1, 0, true), Depends)
	expect(t, "overflow, which follows from who asks", of(1.16, 0.3, true), Holds)
	expect(t, "on the limit", of(248.9/215.6*0.9, 0, true), CannotTest)
}

// All that is asked of C9 can fail together.
func TestJudgeC9DoesNotHold(t *testing.T) {
	c := claimC9()
	m := in("d", "ext4").all(&c, byVariant(map[string]float64{
		nameRing(512): 10_000, nameRing(1024): 20_000, nameRing(2048): 10_000,
	}))
	m.each(func(_ *run.Result, v *run.VariantResult) {
		v.Metrics[answerTime], v.Metrics[overflowShare] = suitetest.About(1000), suitetest.About(0.3)
		if v.Name == nameRing(512) {
			v.Metrics[answerTime] = suitetest.About(9000)
		}
	})
	expect(t, "nothing of it", judge(t, &c, m), DoesNotHold)
}

func TestJudgeC10(t *testing.T) {
	c := claimC10()
	made := func(b, bTail, slices, slicesTail float64) *made {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			variantTempHere: 800_000, variantTempShm: 800_000 / b, variantSlices: 800_000 / slices,
		}))
		return m.tails(func(_ *run.Result, v *run.VariantResult) float64 {
			return 47_200_000 / map[string]float64{variantTempHere: 1, variantTempShm: bTail, variantSlices: slicesTail}[v.Name]
		})
	}
	of := func(b, bTail, slices, slicesTail float64) run.Claim {
		return judge(t, &c, made(b, bTail, slices, slicesTail))
	}
	expect(t, "as claimed", of(7.2, 15.3, 17.4, 59), Holds)
	expect(t, "better", of(20, 50, 500, 900), Holds)
	expect(t, "nothing", of(1.5, 2, 3, 5), DoesNotHold)
	expect(t, "memory only", of(1.5, 2, 500, 900), Depends)
	expect(t, "on the limit", of(8900.0/1240*0.9, 15.3, 17.4, 59), CannotTest)

	m := made(7.2, 15.3, 17.4, 59)
	m.results[0].Variants[0].Error = "too few inodes"
	got := judge(t, &c, m)
	expect(t, "no room", got, CannotTest)
	if !strings.Contains(got.Why, "inodes") {
		t.Errorf("not named: %s", got.Why)
	}
}

func TestJudgeC15(t *testing.T) {
	c := claimC15()
	of := func(times, tail, calls float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			variantTempHere: 500_000, variantMemFS: 500_000 / times,
		}))
		m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["syscalls_per_op"] = suitetest.About(8)
			if v.Name == variantMemFS {
				v.Metrics["syscalls_per_op"] = suitetest.About(calls)
			}
		}).tails(func(_ *run.Result, v *run.VariantResult) float64 {
			return 47_000_000 / map[string]float64{variantTempHere: 1, variantMemFS: tail}[v.Name]
		})
		return judge(t, &c, m)
	}
	expect(t, "as claimed", of(160, 160, 0), Holds)
	expect(t, "nothing", of(20, 20, 3), DoesNotHold)
	expect(t, "no call, less gain", of(20, 20, 0), Depends)
	expect(t, "the time, but not the p99", of(160, 20, 0), Depends)
	expect(t, "on the limit", of(47/0.3*0.9, 160, 0), CannotTest)

	m := in("d", "ext4").all(&c, byVariant(map[string]float64{variantTempHere: 500_000, variantMemFS: 1000}))
	got := judge(t, &c, m)
	expect(t, "calls not counted", got, CannotTest)
	if !strings.Contains(got.Why, "syscalls_per_op") {
		t.Errorf("not named: %s", got.Why)
	}
}

// Each variant of each claim does its job, with few operations, and leaves
// the working directory as it was.
func TestCreationCostClaimsRun(t *testing.T) {
	was, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range creationCostClaims() {
		for _, e := range c.Experiments {
			if e.Params["left"] != "" && e.Params["left"] != "0" {
				e = suitetest.Smaller(e)
			}
			for i := range e.Variants {
				v := &e.Variants[i]
				const ops = 30
				dir := t.TempDir()
				if v.Name == variantSetAside && !roomFor1G(dir) {
					continue
				}
				b, err := lab.RunOnce(t.Context(), &e, v, dir, ops, 7)
				switch {
				case b.Unsupported:
					t.Logf("%s: %s cannot run here: %v", e.ID(), v.Name, err)
					continue
				case err != nil && e.Name == "C5-write":
					t.Logf("no direct I/O here: %v", err)
					continue
				case err != nil:
					t.Errorf("%s: %v", e.ID(), err)
					continue
				}
				checkCreated(t, &e, v, dir, ops, b)
			}
		}
	}
	if now, err := os.Getwd(); err != nil || now != was {
		t.Errorf("the working directory is %s, was %s", now, was)
	}
}

// roomFor1G says whether a file may take 1 GiB of a disk.
func roomFor1G(dir string) bool {
	info, err := sys.StatFS(dir)
	return err == nil && info.Free > 4<<30 && sys.FSName(info.Magic) != "tmpfs"
}

// checkCreated looks at what a block left and reported.
func checkCreated(t *testing.T, e *lab.Experiment, v *lab.Variant, dir string, ops int, b run.Block) {
	t.Helper()
	want := ops
	switch {
	case e.Name == "C1-coded":
		want = 26
	case v.Name == variantUnnamed, v.Name == variantPool, v.Name == variantMemFS, v.Name == variantTempShm, v.Name == variantSlices,
		e.Name == "C3-check", // unmounted
		e.Params["left"] != "" && e.Params["left"] != "0":
		want = 0
	case v.Name == variantSyncPool:
		want = int(b.Metrics["files_made"])
		if want < 1 || want > ops {
			t.Errorf("%s made %d files for %d goroutines", v.Name, want, ops)
		}
	case v.Name == variantFullPool:
		want = publishedFiles + int(b.Metrics["files_made"])
	case e.Name == "C5-write":
		want = 1
		info, err := os.Stat(filepath.Join(dir, "data"))
		if err != nil {
			t.Fatal(err)
		}
		if size := map[string]int64{variantSetAside: c5FileSize, variantGrowing: int64(ops) * c5Page}[v.Name]; info.Size() != size {
			t.Errorf("%s left %d bytes, want %d", v.Name, info.Size(), size)
		}
		if v.Name == variantSetAside && sys.AllocatedBytes(info) < c5FileSize {
			t.Errorf("only %d bytes were set aside", sys.AllocatedBytes(info))
		}
		return // a file of 1 GiB is not read
	}
	if n := len(suitetest.RegularFiles(t, dir)); n != want {
		t.Errorf("%s %s left %d files, want %d", e.ID(), v.Name, n, want)
	}
	if e.Suite == "claims" && strings.HasPrefix(e.Name, "C9") {
		if b.Metrics[answerTime] <= 0 || b.Metrics[overflowShare] < 0 || b.Metrics[overflowShare] > 1 {
			t.Errorf("%s %s reports answers after %v ns, overflow %v", e.ID(), v.Name, b.Metrics[answerTime], b.Metrics[overflowShare])
		}
	}
}

// A ring that floods overflows, and makes its files all the same.
func TestRingCountsOverflow(t *testing.T) {
	b, err := lab.RunOnce(t.Context(), &lab.Experiment{Suite: "claims", Name: "C9-flood"}, &lab.Variant{
		Name: "small", Run: func(b *lab.B) error { return ring(b, 4, floodGoroutines, false) },
	}, t.TempDir(), 2000, 7)
	if err != nil {
		t.Fatal(err)
	}
	if b.Metrics[overflowShare] == 0 {
		t.Error("16 goroutines that do not wait never found a ring of 4 full")
	}
}

func TestMemFSKeepsWhatIsWritten(t *testing.T) {
	m := newMemFS()
	for i, text := range []string{"one", "two"} {
		f, err := m.CreateTemp()
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{text, text} {
			if _, err := f.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := m.ReadFile(string(rune('0' + i)))
		if err != nil || !bytes.Equal(got, []byte(text+text)) {
			t.Errorf("file %d holds %q, %v", i, got, err)
		}
	}
	if _, err := m.ReadFile("2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that was not made: %v", err)
	}
}

func TestSliceIsFullAtItsEnd(t *testing.T) {
	from := make(chan *slice, 1)
	s := &slice{from: from, mem: make([]byte, 8)}
	if n, err := s.Write(make([]byte, 6)); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := s.Write(make([]byte, 6)); n != 2 || err == nil {
		t.Errorf("wrote %d bytes past the end: %v", n, err)
	}
	if err := s.Close(); err != nil || (<-from).n != 0 {
		t.Errorf("not given back empty: %v", err)
	}
}

func TestFailedNamesTheFirstError(t *testing.T) {
	f := &found{results: map[string]*run.Result{"a": {Variants: []run.VariantResult{{}, {Error: "broken"}}}, "b": {Variants: []run.VariantResult{{}}}}}
	if got := f.failed("a"); got != "broken" {
		t.Errorf("got %q", got)
	}
	if got := f.failed("b"); got != "" {
		t.Errorf("got %q", got)
	}
	if got := f.failed("c"); !strings.Contains(got, "c") {
		t.Errorf("got %q", got)
	}
	if e := f.times("b", "x", "y"); !math.IsNaN(e.Median) {
		t.Errorf("a figure of nothing: %v", e)
	}
}
