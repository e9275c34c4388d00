package claims

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL9(t *testing.T) {
	c := claimL9()
	// misses and times are those of the others, as multiples of the two levels'.
	of := func(misses, times func(skew, v string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e6 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			more, longer := 1.0, 1.0
			if v.Name != l9Coded {
				more, longer = misses(r.Params["skew"], v.Name), times(r.Params["skew"], v.Name)
			}
			v.Metrics["miss_share"], v.Metrics["first_miss_share"] = suitetest.About(0.031*more), suitetest.About(1)
			v.Metrics["query_mean_ns"] = suitetest.About(2e4 * longer)
		}))
	}
	is := func(x float64) func(string, string) float64 { return func(string, string) float64 { return x } }
	skewed := func(yes, no float64) func(string, string) float64 {
		return func(skew, _ string) float64 {
			if skew == "1.2" {
				return yes
			}
			return no
		}
	}
	expect(t, "as claimed", of(is(6.1), is(2.1)), Holds)
	expect(t, "alike", of(is(1), is(1)), DoesNotHold)
	expect(t, "fewer misses only", of(is(6.1), is(1)), DoesNotHold)
	expect(t, "on a skewed load", of(skewed(6.1, 1.3), skewed(2.1, 1.2)), Depends)
	expect(t, "against LFU only", of(func(_, v string) float64 {
		if v == l9ByCount {
			return 6.1
		}
		return 1
	}, is(2.1)), DoesNotHold)
	expect(t, "on the limit", of(is(6.1), is(2*(1-slack))), CannotTell)
}

// Each cache returns the loaded data, keeps no more than its capacity, and evicts as its
// name says.
func TestL9Caches(t *testing.T) {
	caches := map[string]func(int) l9Cache{
		l9ByRecency: newL9LRU, l9ByCount: newL9LFU, l9Own: newL9Levels,
	}
	for name, open := range caches {
		c := open(50)
		misses := 0
		load := func(piece int) ([]byte, error) {
			misses++
			return bytes.Repeat([]byte{byte(piece)}, l9Value), nil
		}
		rng := rand.New(rand.NewPCG(5, 5))
		for range 5000 {
			piece := rng.IntN(100)
			data, err := c.get(piece, load)
			if err != nil || len(data) != l9Value || data[0] != byte(piece) {
				t.Fatalf("%s: piece %d is wrong: %v", name, piece, err)
			}
		}
		// Half of the 100 pieces fit.
		if share := float64(misses) / 5000; share < 0.45 || share > 0.6 {
			t.Errorf("%s: %.2f of the requests missed", name, share)
		}
		broken := errors.New("broken")
		if _, err := c.get(1000, func(int) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
		c.close()
	}

	dropped := func(c l9Cache, pieces ...int) (missed []int) {
		for _, p := range pieces {
			if _, err := c.get(p, func(p int) ([]byte, error) { missed = append(missed, p); return []byte{1}, nil }); err != nil {
				t.Fatal(err)
			}
		}
		return missed
	}
	if got := dropped(newL9LRU(2), 1, 1, 1, 2, 3, 2, 1); !slices.Equal(got, []int{1, 2, 3, 1}) {
		t.Errorf("LRU missed %v", got)
	}
	if got := dropped(newL9LFU(2), 1, 1, 1, 2, 3, 1, 2); !slices.Equal(got, []int{1, 2, 3, 2}) {
		t.Errorf("LFU missed %v", got)
	}
}

// Two levels keep what is in the first when a scan passes, and admit a key from its third
// query on.
func TestL9Hybrid(t *testing.T) {
	c := newL9Hybrid().(*l9Hybrid)
	misses := 0
	ask := func(key int) bool {
		before := misses
		if _, err := c.get(key, func(int) ([]byte, error) { misses++; return []byte{1}, nil }); err != nil {
			t.Fatal(err)
		}
		return misses == before
	}
	if ask(1) || !ask(1) || len(c.level1.at) != 0 || !ask(1) || len(c.level1.at) != 1 {
		t.Errorf("after three queries level 1 has %d keys, want 1", len(c.level1.at))
	}
	for key := range l9Level2 + 100 {
		ask(1000 + key)
	}
	if !ask(1) {
		t.Error("a scan evicted a key of level 1")
	}
	if len(c.level2.at) != l9Level2 || len(c.level1.at) > l9Level1 {
		t.Errorf("the levels have %d and %d keys", len(c.level1.at), len(c.level2.at))
	}
}

// The load is skewed, and has its shares of scans and of keys that do not exist.
func TestL9Requests(t *testing.T) {
	const n = 200_000
	for _, load := range []l9Load{{skew: 1, keys: 1000}, {skew: 1, keys: 1000, missing: 0.1}, {skew: 0.001, keys: 100_000, scans: 0.2}} {
		next := l9Requests(load, rand.New(rand.NewPCG(3, 3)))
		counts, absent, inRow, last := map[int]int{}, 0, 0, -1
		for range n {
			key := next()
			counts[key]++
			if key >= load.keys {
				absent++
			}
			if key == last+1 && key < load.keys {
				inRow++
			}
			last = key
		}
		most := 0
		for key, c := range counts {
			if key < load.keys {
				most = max(most, c)
			}
		}
		if share := float64(absent) / n; math.Abs(share-load.missing) > 0.01 {
			t.Errorf("%v: %.3f of the keys do not exist", load, share)
		}
		if share := float64(most) / n; load.skew == 1 && (share < 0.1 || share > 0.17) {
			t.Errorf("%v: the hottest key has %.2f of the queries", load, share)
		}
		if share := float64(inRow) / n; load.scans > 0 && (share < 0.1 || share > 0.3) {
			t.Errorf("%v: %.2f of the queries follow the one before", load, share)
		}
	}
}
