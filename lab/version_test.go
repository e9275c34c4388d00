package lab

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	const house = "github.com/stele-go/stele"
	module := func(path, version string) *debug.Module { return &debug.Module{Path: path, Version: version} }
	for name, c := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"installed command":       {&debug.BuildInfo{Main: *module(house+"/cmd/stele", "v0.2.0"), Deps: []*debug.Module{module(house, "v0.2.1"), module(house+"/lab", "v0.2.0")}}, "v0.2.0"},
		"dependency":              {&debug.BuildInfo{Main: *module("example.org/bench", "v1.0.0"), Deps: []*debug.Module{module(house+"/lab", "v0.3.0")}}, "v0.3.0"},
		"workspace":               {&debug.BuildInfo{Main: *module(house+"/cmd/stele", "(devel)"), Deps: []*debug.Module{module(house+"/lab", "(devel)")}}, "(devel)"},
		"its own main module":     {&debug.BuildInfo{Main: *module(house+"/lab", "")}, "(devel)"},
		"replaced by a directory": {&debug.BuildInfo{Main: *module("example.org/bench", ""), Deps: []*debug.Module{{Path: house + "/lab", Version: "v0.1.0", Replace: module("../lab", "")}}}, "(devel)"},
		"replaced by a fork":      {&debug.BuildInfo{Main: *module("example.org/bench", ""), Deps: []*debug.Module{{Path: house + "/lab", Version: "v0.1.0", Replace: module("example.org/lab", "v0.1.1")}}}, "v0.1.1"},
		"another module":          {&debug.BuildInfo{Main: *module("example.org/bench", "v1.0.0"), Deps: []*debug.Module{module(house, "v0.1.0")}}, "unknown"},
		"no information":          {nil, "unknown"},
	} {
		if got := versionOf(c.info); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
