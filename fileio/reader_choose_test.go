package fileio

import (
	"testing"

	"github.com/stele-go/stele/profile"
)

func TestChoose(t *testing.T) {
	if !canAdvise {
		t.Skip("one way only")
	}
	const mib, gib = 1 << 20, 1 << 30
	says := func(random, sequential string) *profile.Profile {
		return &profile.Profile{Read: profile.Read{Random: random, Sequential: sequential}}
	}
	for _, c := range []struct {
		size    int64
		pattern Pattern
		free    int64 // 0: not known
		profile *profile.Profile
		want    Way
	}{
		{gib, Unknown, 8 * gib, nil, Buffered},
		{gib, Random, 8 * gib, nil, Mapped},
		{4 * gib, Random, 8 * gib, nil, Mapped},
		{5 * gib, Random, 8 * gib, nil, Buffered},
		{gib, Random, 0, nil, Buffered},
		{mib, Random, 8 * gib, nil, Mapped},
		{mib - 1, Random, 8 * gib, nil, Buffered},
		{gib, Sequential, 8 * gib, nil, Buffered},
		{5 * gib, Sequential, 8 * gib, nil, Uncached},
		{5 * gib, Sequential, 0, nil, Buffered},
		{gib, Random, 8 * gib, says("direct", "mapped"), Direct},
		{gib, Random, 8 * gib, says("buffered", ""), Buffered},
		{gib, Sequential, 8 * gib, says("buffered", "direct"), Direct},
		{gib, Sequential, 8 * gib, says("", "mapped"), Mapped},
		{9 * gib, Sequential, 8 * gib, says("", "mapped"), Uncached}, // a mapping does not fit
		{gib, Unknown, 8 * gib, says("direct", "direct"), Buffered},
		{gib, Random, 8 * gib, says("auto", "sideways"), Mapped},
		{gib, Sequential, 8 * gib, says("auto", "sideways"), Buffered},
	} {
		got := choose(c.size, Options{Pattern: c.pattern, Profile: c.profile}, c.free, c.free > 0)
		if got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
