package claims

import (
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
	"github.com/stele-go/stele/suites/syncs"
)

// r11Results makes up power cuts: lost returns how many of them lost data.
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
	expect(t, "times and names lost that are not claimed", got, Holds)
	if !strings.Contains(got.Measured, "mtime lost in 25 of 30") || !strings.Contains(got.Measured, "drops O_SYNC loses acknowledged data: 64 of 64") {
		t.Errorf("not mentioned: %s", got.Measured)
	}
	loses := func(on ...string) run.Claim {
		return judge(t, &c, r11Results(&c, func(fs, way string, k power.SyncKind) float64 {
			if way == syncs.WayOSync && k == power.ModTime && slices.Contains(on, fs) {
				return 1
			}
			return 0
		}, dropped))
	}
	expect(t, "O_SYNC loses times", loses(r11Systems...), DoesNotHold)
	expect(t, "O_SYNC loses times on one", loses("xfs"), Depends)
	expect(t, "the client that drops loses nothing", judge(t, &c, r11Results(&c, none, nil)), DoesNotHold)

	m := r11Results(&c, none, dropped)
	for _, r := range m.results {
		r.Variants[0].Error = "power cuts need root, to mount"
	}
	got = judge(t, &c, m)
	expect(t, "no root", got, CannotTest)
	if !strings.Contains(got.Why, "need root") {
		t.Errorf("not mentioned: %s", got.Why)
	}
	m = r11Results(&c, none, dropped)
	m.results[1].Variants[0].Time, m.results[1].Variants[0].Metrics = noEstimate, nil
	expect(t, "out of time before XFS", judge(t, &c, m), CannotTell)
	m = r11Results(&c, none, dropped)
	m.results[1].Variants[0].Error = "no mkfs.xfs"
	got = judge(t, &c, m)
	expect(t, "no XFS", got, Holds)
	for _, want := range []string{"no mkfs.xfs", "a mount of JuiceFS"} {
		if !strings.Contains(got.Why, want) {
			t.Errorf("%q is not mentioned: %s", want, got.Why)
		}
	}
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
