package peers_test

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/peers"
	"github.com/stele-go/stele/suites"
)

const securejoin = "securejoin.MkdirAllHandle"

// fullSuite returns the experiments of a suite.
func fullSuite(t *testing.T, name string) []lab.Experiment {
	t.Helper()
	list := suites.List()
	i := slices.IndexFunc(list, func(s suites.Suite) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("there is no suite %s", name)
	}
	return list[i].Full
}

func TestExtendAddsToTheSameExperiments(t *testing.T) {
	before := fullSuite(t, "mkdir")
	after := peers.Extend(before)
	if len(after) != len(before) {
		t.Fatalf("%d experiments became %d", len(before), len(after))
	}
	added := 0
	for i := range after {
		e := &after[i]
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
		if e.ID() != before[i].ID() {
			t.Errorf("%s became %s", before[i].ID(), e.ID())
		}
		if before[i].Variant(securejoin) != nil {
			t.Errorf("%s: Extend changed its argument", e.ID())
		}
		v := e.Variant(securejoin)
		if v == nil {
			continue
		}
		added++
		if base := e.BaselineFor(v.Promise); base.Name != "os.MkdirAll" {
			t.Errorf("%s compares the peer with %s", e.ID(), base.Name)
		}
	}
	if runtime.GOOS == "linux" && added < len(after)-1 {
		t.Errorf("the peer is in %d of %d experiments", added, len(after))
	}
}

func TestOtherSuitesAreLeftAlone(t *testing.T) {
	e := lab.Experiment{Suite: "other", Name: "x", Variants: []lab.Variant{{Name: "a"}}}
	if got := peers.Extend([]lab.Experiment{e}); len(got[0].Variants) != 1 {
		t.Errorf("suite other has %d variants, want its own one", len(got[0].Variants))
	}
}

// Experiments has no experiment that is as it was without peers.
func TestExperimentsHaveAPeer(t *testing.T) {
	n := map[string]int{}
	for _, s := range suites.List() {
		for _, e := range s.Full {
			n[e.ID()] = len(e.Variants)
		}
	}
	list := peers.Experiments()
	for _, e := range list {
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
		if base := e.BaselineFor(e.Variants[0].Promise); e.Name != "beside-renameio" && strings.HasPrefix(e.Name, "beside-") && strings.HasPrefix(base.Name, "wal.") {
			t.Errorf("%s: its baseline is Stele", e.ID())
		}
		if !strings.HasPrefix(e.Name, "beside-") && len(e.Variants) <= n[e.ID()] {
			t.Errorf("%s has %d variants, as without peers", e.ID(), len(e.Variants))
		}
		if !slices.Contains([]string{"mkdir", "replace", "wal"}, e.Suite) {
			t.Errorf("%s: there is no peer of suite %s", e.ID(), e.Suite)
		}
	}
	holds := func(variant string) bool {
		return slices.ContainsFunc(list, func(e lab.Experiment) bool { return e.Variant(variant) != nil })
	}
	if !holds("natefinch/atomic.WriteFile") || !holds("etcd wal.Save") || !holds("tidwall/wal Write") || runtime.GOOS == "linux" && !holds(securejoin) {
		t.Error("a peer is in no experiment")
	}
}

// A peer is comparable when it makes the very tree that os.MkdirAll makes.
func TestPeersMakeTheSameTree(t *testing.T) {
	for _, e := range peers.Extend(fullSuite(t, "mkdir")) {
		peer := e.Variant(securejoin)
		if peer == nil {
			continue
		}
		if e.Params["paths"] != "" {
			e.Params = run.Params{"paths": "100"}
		}
		var want []string
		for _, v := range []*lab.Variant{e.Variant("os.MkdirAll"), peer} {
			dir := t.TempDir()
			if _, err := lab.RunOnce(t.Context(), &e, v, dir, 3, 7); err != nil {
				t.Fatalf("%s: %s: %v", e.ID(), v.Name, err)
			}
			got := tree(t, dir)
			if v != peer {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%s: the peer made %d directories, os.MkdirAll %d, or others", e.ID(), len(got), len(want))
			}
		}
	}
}

func tree(t *testing.T, root string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		list = append(list, rel+" "+info.Mode().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list[1:] // the root is the test's
}
