package claims

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/fileio/pace"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
	"github.com/stele-go/stele/suites/syncs"
)

func TestJudgeSyncWithoutResults(t *testing.T) {
	judgeNothing(t, []Claim{claimR7(), claimR11(), claimR12()})
}

func TestJudgeR6(t *testing.T) {
	c := claimR6()
	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e6 })
	got := judge(t, &c, m)
	expect(t, "the vendor's limits", got, DoesNotHold)
	for _, want := range []string{"3000 IOPS: 875, at most 750", "250 MiB/s here", "until September 2025"} {
		if !strings.Contains(got.Measured, want) {
			t.Errorf("no %q in %s", want, got.Measured)
		}
	}
	// Nothing measured: the arithmetic is the same.
	expect(t, "no results", judge(t, &c, in("d", "ext4")), DoesNotHold)

	// The rule itself, with limits made up.
	f := &found{}
	as := gp3Limits{when: "then", baseMiBps: 125, mostMiBps: 1000, perIOPS: 1}
	if got := judgeR6(f, "", []gp3Limits{as}); got.verdict != DoesNotHold {
		t.Errorf("1 MiB/s for each IOPS: %s", got.verdict)
	}
	was := r6IOPS
	defer func() { r6IOPS = was }()
	r6IOPS = []float64{4000, 16_000}
	if got := judgeR6(f, "", r6Published[1:]); got.verdict != Holds {
		t.Errorf("where they agree: %s: %s", got.verdict, got.measured)
	}
	if got := judgeR6(f, "", r6Published[:]); got.verdict != Depends || !strings.Contains(got.why, "by the limits today") {
		t.Errorf("where only the former ones agree: %s: %s", got.verdict, got.why)
	}
}

// What R6 takes for the vendor's limits is what package pace sells.
func TestR6AgreesWithPace(t *testing.T) {
	for _, iops := range r6IOPS {
		most := r6Published[0].most(iops)
		if _, err := pace.GP3(1000, int(iops), int(most)); err != nil {
			t.Error(err)
		}
		if _, err := pace.GP3(1000, int(iops), int(most)+1); err == nil {
			t.Errorf("%v IOPS and %v MiB/s can be bought", iops, most+1)
		}
	}
}

func TestJudgeR7(t *testing.T) {
	c := claimR7()
	// A mean of ms, jitter a share of it up to a rate, and three times that from there on.
	of := func(ms, share float64, from int) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return ms * 1e6 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			sd := share * ms * 1e6
			if suitetest.Int(t, r.Params["hz"]) >= from {
				sd *= 3
			}
			v.Metrics[syncs.JitterMetric] = suitetest.About(sd)
			v.Latency = []run.Percentile{{P: 50, NS: ms * 1e6}, {P: 99, NS: 2 * ms * 1e6}}
		}))
	}
	got := of(5.2, 3.8/5.2, 120)
	expect(t, "the fast tier as claimed", got, Holds)
	if !strings.Contains(got.Measured, "jump at 120 a second") || !strings.Contains(got.Measured, "p99 - p50 5.2 ms") {
		t.Errorf("not told: %s", got.Measured)
	}
	expect(t, "the slow tier as claimed", of(18.6, 11.4/18.6, 20), Holds)
	expect(t, "even, and no jump", of(5.2, 0.05, 1000), DoesNotHold)
	expect(t, "a jump elsewhere, the jitter as claimed", of(5.2, 3.8/5.2, 200), Depends)

	m := in("d", "tmpfs").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	expect(t, "in memory", judge(t, &c, m), CannotTest)
}

// r11Results makes up power cuts: lost tells how many lost something.
func r11Results(c *Claim, lost func(fs, way string, k power.SyncKind) float64, fuse map[string]float64) *made {
	m := in("d", "ext4").all(c, func(*lab.Experiment, string) float64 { return 1e9 })
	return m.each(func(r *run.Result, v *run.VariantResult) {
		if r.Name == "R11-fuse" {
			v.Metrics[r11LostBlocks] = suitetest.About(fuse[v.Name])
			return
		}
		for k := range power.SyncKinds {
			v.Metrics[lostMetric(k)] = suitetest.About(lost(r.Params["fs"], v.Name, k))
			v.Metrics[cutsMetric(k)] = suitetest.About(r11Cuts)
		}
	})
}

func TestJudgeR11(t *testing.T) {
	c := claimR11()
	none := func(string, string, power.SyncKind) float64 { return 0 }
	dropped := map[string]float64{r11SyncDropped: r11Blocks, r11DsyncDropped: r11Blocks}
	expect(t, "all kept, but through the client that drops", judge(t, &c, r11Results(&c, none, dropped)), Holds)

	linux := func(fs, way string, k power.SyncKind) float64 {
		if way == syncs.WayODsync && k >= power.ModTime && fs != "btrfs" || k == power.NewName {
			return 25
		}
		return 0
	}
	got := judge(t, &c, r11Results(&c, linux, dropped))
	expect(t, "times and names lost where nobody claims them", got, Holds)
	if !strings.Contains(got.Measured, "mtime lost in 25 of 30") || !strings.Contains(got.Measured, "dropped: 64 of 64") {
		t.Errorf("not told: %s", got.Measured)
	}
	expect(t, "O_SYNC loses times", judge(t, &c, r11Results(&c, func(_, way string, k power.SyncKind) float64 {
		if way == syncs.WayOSync && k == power.ModTime {
			return 1
		}
		return 0
	}, dropped)), Depends)
	expect(t, "the client that drops loses nothing", judge(t, &c, r11Results(&c, none, nil)), Depends)

	m := r11Results(&c, none, dropped)
	m.results[0].Variants[0].Error = "power cuts need root, to mount"
	got = judge(t, &c, m)
	expect(t, "no root", got, CannotTest)
	if !strings.Contains(got.Why, "need root") {
		t.Errorf("not told: %s", got.Why)
	}
}

func TestJudgeR12(t *testing.T) {
	c := claimR12()
	of := func(freeVolume, freeCaller, pacedVolume, pacedCaller float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 5e6 })
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			volume, caller := freeVolume, freeCaller
			if v.Name == r12Paced {
				volume, caller = pacedVolume, pacedCaller
			}
			v.Metrics[r12Volume], v.Metrics[r12Caller] = suitetest.About(volume*1e6), suitetest.About(caller*1e6)
		}))
	}
	expect(t, "short for both", of(160, 160, 5, 20), Holds)
	expect(t, "short for the volume alone", of(160, 160, 5, 170), Depends)
	expect(t, "neither", of(10, 10, 160, 170), DoesNotHold)
	expect(t, "on the limit", of(160, 160, 50, 20), CannotTest)

	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	m.results[0].Variants[0].Error = "only root can mount"
	got := judge(t, &c, m)
	expect(t, "no root", got, CannotTest)
	if !strings.Contains(got.Why, "root") {
		t.Errorf("not told: %s", got.Why)
	}
}

// The claims' experiments do their job, with few operations.
func TestSyncClaimsRun(t *testing.T) {
	var few []Claim
	for _, c := range Sync() {
		switch c.ID {
		case "R7":
			c.Experiments = c.Experiments[len(c.Experiments)-1:] // 200 a second
		case "R11":
			c.Experiments = c.Experiments[len(c.Experiments)-1:] // the cuts have a test of their own
		}
		few = append(few, c)
	}
	runClaims(t, few, 5, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
		switch e.Name {
		case "R6":
			if info, err := os.Stat(filepath.Join(dir, "data")); err != nil || info.Size() != r6File {
				t.Errorf("R6: %v, %v", info, err)
			}
		case "R7":
			if info, err := os.Stat(filepath.Join(dir, "data")); err != nil || info.Size() != 5*syncs.PageSize {
				t.Errorf("R7: %v, %v", info, err)
			}
		case "R11-fuse":
			want := 0.
			if strings.HasSuffix(b.Variant, ", dropped") {
				want = r11Blocks
			}
			if got := b.Metrics[r11LostBlocks]; got != want {
				t.Errorf("R11, %s: %v blocks are lost, want %v", b.Variant, got, want)
			}
		case "R12":
			if b.Missing[r12Volume] == "" || len(filesIn(t, dir)) != 0 {
				t.Errorf("R12: a p99 of 5 operations, or something is left: %v", filesIn(t, dir))
			}
		}
	})
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// One file system, both flags, each kind of change, all cuts.
func TestR11Cuts(t *testing.T) {
	t.Parallel()
	e := r11Local("ext4")
	for i := range e.Variants {
		v := &e.Variants[i]
		b, err := lab.RunOnce(t.Context(), &e, v, t.TempDir(), 1, 7)
		if b.Unsupported {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for k := range power.SyncKinds {
			lost, cuts := b.Metrics[lostMetric(k)], b.Metrics[cutsMetric(k)]
			promised := k <= power.HoleFilled || v.Name == syncs.WayOSync && k != power.NewName
			if cuts < r11Cuts/2 || cuts > r11Cuts || promised && lost > 0 {
				t.Errorf("%s, %v: %v of %v cuts lost it", v.Name, k, lost, cuts)
			}
			if v.Name == syncs.WayODsync && k == power.ModTime && lost == 0 {
				t.Errorf("%s: no cut lost %v; ext4 writes it for O_SYNC only", v.Name, k)
			}
		}
	}
}

func TestVolatileDisk(t *testing.T) {
	d := newVolatileDisk(8)
	d.write([]byte("ab"), 0)
	d.flush()
	d.write([]byte("cd"), 2)
	p := make([]byte, 8)
	if n := d.read(p, 0); n != 8 || string(p[:4]) != "abcd" {
		t.Errorf("before the cut: %q", p[:n])
	}
	d.cut()
	if d.read(p, 0); string(p[:4]) != "ab\x00\x00" {
		t.Errorf("after the cut: %q", p)
	}
	if d.write([]byte("xyz"), 6) || d.write(nil, -1) || d.read(p, 8) != 0 {
		t.Error("the disk has no end")
	}
}

// The kernel leaves O_SYNC to a client that keeps no page cache: it sends the
// flag, and no fsync.
func TestFuseGetsTheFlagAndNoFsync(t *testing.T) {
	c := &fuseClient{disk: newVolatileDisk(8 * 512), passes: true}
	lost, err := c.loseUnflushed(t.TempDir(), os.O_SYNC, 8, nil)
	if err != nil {
		t.Skip(err)
	}
	if lost != 0 || c.fsyncs != 0 || c.disk.flushes != 8 {
		t.Errorf("%d blocks lost, %d fsyncs, %d flushes; want 0, 0, 8", lost, c.fsyncs, c.disk.flushes)
	}
	c = &fuseClient{disk: newVolatileDisk(8 * 512)}
	if lost, err = c.loseUnflushed(t.TempDir(), fileop.DataSync, 8, nil); err != nil || lost != 8 || c.fsyncs != 0 {
		t.Errorf("dropped: %d blocks lost, %d fsyncs, %v", lost, c.fsyncs, err)
	}
	c = &fuseClient{disk: newVolatileDisk(8 * 512)}
	if lost, err = c.loseUnflushed(t.TempDir(), 0, 8, (*os.File).Sync); err != nil || lost != 0 || c.fsyncs != 8 {
		t.Errorf("fsync: %d blocks lost, %d fsyncs, %v", lost, c.fsyncs, err)
	}
}

// A metric's name has no blanks, and no two kinds share one.
func TestKindWords(t *testing.T) {
	seen := map[string]bool{}
	for k := range power.SyncKinds {
		w := kindWord(k)
		if strings.ContainsAny(w, " ,") || seen[w] {
			t.Errorf("%v is %q", k, w)
		}
		seen[w] = true
	}
}
