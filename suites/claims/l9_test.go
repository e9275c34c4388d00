package claims

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL9(t *testing.T) {
	c := claimL9(1)
	// misses and times are those of the three others, as multiples of the two levels'.
	of := func(misses, times func(load, v string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e6 })
		m.place.Environment.Device = "/dev/sda"
		return judge(t, &c, m.sized(l9File).each(func(r *run.Result, v *run.VariantResult) {
			load := r.Params["load"]
			more, longer := 1.0, 1.0
			if v.Name != l9TwoLevels {
				more, longer = misses(load, v.Name), times(load, v.Name)
			}
			v.Metrics["miss_share"] = suitetest.About(0.031 * more)
			v.Metrics["call_mean_ns"], v.Metrics["query_mean_ns"] = suitetest.About(2e4*longer), suitetest.About(5e6*longer)
		}))
	}
	is := func(x float64) func(string, string) float64 { return func(string, string) float64 { return x } }
	expect(t, "as claimed", of(is(6.1), is(2)), Holds)
	expect(t, "alike", of(is(1), is(1)), DoesNotHold)
	expect(t, "fewer misses only", of(is(6.1), is(1)), Depends)
	expect(t, "where the load shifts", of(func(load, _ string) float64 {
		if load == l9Shifting {
			return 6.1
		}
		return 1.3
	}, is(1.2)), Depends)
	expect(t, "against plain LFU only", of(func(_, v string) float64 {
		if v == l9ByCount {
			return 6.1
		}
		return 1
	}, is(1)), Depends)
	got := of(is(6.1), is(2*(1-slack)))
	expect(t, "on the limit", got, CannotTell)
	if !strings.Contains(got.Measured, "9.0 ms from when it was due") {
		t.Errorf("the time from when a query was due is not mentioned: %s", got.Measured)
	}
}

// Each cache returns the loaded data, keeps no more than its capacity, and evicts as its
// name says.
func TestL9Caches(t *testing.T) {
	caches := map[string]func(int) l9Cache{
		l9ByRecency: newL9LRU, l9ByCount: newL9LFU, l9ByFrequency: newL9Otter, l9TwoLevels: newL9Levels,
	}
	for name, open := range caches {
		c := open(50)
		misses := 0
		load := func(piece int) ([]byte, error) {
			misses++
			return bytes.Repeat([]byte{byte(piece)}, l9Piece), nil
		}
		rng := rand.New(rand.NewPCG(5, 5))
		for range 5000 {
			piece := rng.IntN(100)
			data, err := c.get(piece, load)
			if err != nil || len(data) != l9Piece || data[0] != byte(piece) {
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

// The load is skewed, and where it shifts the hot pieces change.
func TestL9Requests(t *testing.T) {
	const pieces, n = 1000, 40_000
	hottest := func(load l9Load) (first, last int, share float64) {
		next := l9Requests(load, rand.New(rand.NewPCG(3, 3)), pieces)
		hot := func() (piece int, most int) {
			counts := make([]int, pieces)
			for range n / 4 {
				counts[next()]++
			}
			for p, c := range counts {
				if c > most {
					piece, most = p, c
				}
			}
			return piece, most
		}
		first, most := hot()
		hot()
		hot()
		last, _ = hot()
		return first, last, float64(most) / (n / 4)
	}
	if first, last, share := hottest(l9Loads[0]); first != last || share < 0.1 || share > 0.17 {
		t.Errorf("steady: the hottest piece is %d and later %d, with %.2f of the requests", first, last, share)
	}
	if first, last, _ := hottest(l9Loads[1]); first == last {
		t.Errorf("the hottest piece of a load that shifts stays %d", first)
	}
}
