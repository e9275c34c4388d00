package wal_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// All sequences of up to three steps, and all crash states of each. Unless
// STELE_LONG is set, a sample of those of three.
func TestStates(t *testing.T) {
	var short, three [][]string
	for _, a := range walSteps {
		short = append(short, []string{a})
		for _, b := range walSteps {
			short = append(short, []string{a, b})
			for _, c := range walSteps {
				three = append(three, []string{a, b, c})
			}
		}
	}
	if !prove.Long() {
		rand.New(rand.NewPCG(prove.Seed(t), 6)).Shuffle(len(three), func(i, j int) { three[i], three[j] = three[j], three[i] })
		three = three[:6]
	}
	for _, steps := range append(short, three...) {
		t.Run(strings.Join(steps, ","), func(t *testing.T) {
			t.Parallel()
			if rep := walStates(t, steps, states.Options{}); !rep.Exhaustive {
				t.Errorf("there are too many crash states: %v", rep)
			}
		})
	}
}

func walStates(t *testing.T, steps []string, o states.Options) states.Report {
	t.Helper()
	h := prove.RecordMount(t, states.MountOptions{Prepare: oldWal}, walRun(walOptions(), steps))
	rep := h.CheckDir(o, checkWal)
	if t.Log(rep); rep.Err() != nil {
		t.Errorf("steps %v: %v", steps, rep)
	}
	return rep
}

// Longer random sequences, and concurrent appenders, under both models.
func TestStatesRandom(t *testing.T) {
	seed := prove.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 7))
	n, most := 2, 100
	if prove.Long() {
		n, most = 50, 2000
	}
	for i := range n {
		steps, o := randomSteps(rng, 12), states.Options{Max: most, Seed: seed, Model: states.Model(i % 2)}
		t.Run(strings.Join(steps, ","), func(t *testing.T) {
			t.Parallel()
			walStates(t, steps, o)
		})
		t.Run("many appenders", func(t *testing.T) {
			t.Parallel()
			h := prove.RecordMount(t, states.MountOptions{}, walParallel(walOptions(), 8, 12))
			rep := h.CheckDir(o, checkWal)
			if t.Log(rep); rep.Err() != nil {
				t.Error(rep)
			}
		})
	}
}
