package run

import (
	"testing"
)

func TestVerdictSentence(t *testing.T) {
	type ns = map[string]float64
	for _, c := range []struct {
		name string
		vs   []VariantResult
		ns   ns
		want string
	}{
		{
			"one is fastest", named(killPrefix, "os.MkdirAll", "Batch"), ns{"os.MkdirAll": 100, "Batch": 48},
			"Batch takes 0.48x the time of os.MkdirAll (95 % interval 0.48 to 0.48) and survives the same: kill -9, not a power cut.",
		},
		{
			"two are fastest", named(powerPrefix, "old", "x", "y", "z"), ns{"old": 100, "x": 50, "y": 51, "z": 60},
			"x takes 0.50x the time of old (95 % interval 0.50 to 0.50) and survives the same: a power cut; the same as it within 5 %: y.",
		},
		{
			"the baseline is fastest", named(killPrefix, "old", "x", "y"), ns{"old": 100, "x": 150, "y": 120},
			"old is the fastest: y takes 1.20x its time (95 % interval 1.20 to 1.20) and survives the same: kill -9, not a power cut.",
		},
		{
			"none differs", named(killPrefix, "old", "x"), ns{"old": 100, "x": 101},
			"None is faster than old; x is the same as old within 5 % (1.01x, 95 % interval 1.01 to 1.01); each survives kill -9, not a power cut.",
		},
		{
			"nothing", named(killPrefix, "old", "x"), nil,
			"Nothing was measured.",
		},
		{
			"alone", named(killPrefix, "old"), ns{"old": 100},
			"old is the only way measured with this promise; it survives kill -9, not a power cut.",
		},
		{
			"two promises", append(named(killPrefix, "k1", "k2"), named(powerPrefix, "p1")...), ns{"k1": 100, "k2": 50, "p1": 900},
			"Promise kill, prefix: k2 takes 0.50x the time of k1 (95 % interval 0.50 to 0.50) and survives the same: kill -9, not a power cut. " +
				"Promise power, prefix: p1 is the only way measured with this promise; it survives a power cut.",
		},
		{
			"no baseline", named(killPrefix, "old", "x"), ns{"x": 50},
			"No verdict without old, which the others are compared with. old was not measured.",
		},
	} {
		r := exactRun(8, c.vs, c.ns)
		r.Analyse()
		if got := r.Results[0].Verdict; got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestVerdictSentenceInDoubt(t *testing.T) {
	r := exactRun(8, named(killPrefix, "old", "x", "y"), map[string]float64{"old": 100, "x": 100, "y": 150})
	for i := range r.Results[0].Blocks {
		if b := &r.Results[0].Blocks[i]; b.Variant == "x" && b.Round > 4 {
			b.Wall += b.Wall / 5
		}
	}
	r.Analyse()
	want := "Cannot tell which is fastest; against old x (1.10x, 95 % interval 1.00 to 1.20) reaches over the tolerance of 5 %, and more rounds would narrow it; " +
		"slower: y (1.50x, 95 % interval 1.50 to 1.50); each survives kill -9, not a power cut."
	if got := r.Results[0].Verdict; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// Of many in doubt one is shown, or nobody would read the sentence.
func TestVerdictSentenceIsShort(t *testing.T) {
	r := exactRun(8, named(killPrefix, "old", "x", "y", "z"), map[string]float64{"old": 100, "x": 100, "y": 95, "z": 101})
	for i := range r.Results[0].Blocks {
		if b := &r.Results[0].Blocks[i]; b.Variant != "old" && b.Round > 4 {
			b.Wall += b.Wall / 5
		}
	}
	r.Analyse()
	want := "Cannot tell which is fastest; against old y (1.04x, 95 % interval 0.95 to 1.14), as 2 more, reaches over the tolerance of 5 %, and more rounds would narrow it; " +
		"each survives kill -9, not a power cut."
	if got := r.Results[0].Verdict; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestFigure(t *testing.T) {
	for x, want := range map[float64]string{0.0123: "0.012", 0.48: "0.48", 1: "1.00", 12.345: "12.35", 1234.5: "1234"} {
		if got := figure(x); got != want {
			t.Errorf("figure(%v) = %s, want %s", x, got, want)
		}
	}
}
