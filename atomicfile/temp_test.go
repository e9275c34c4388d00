package atomicfile

import (
	"math"
	"os"
	"strings"
	"testing"
)

func TestTags(t *testing.T) {
	for _, w := range []writer{
		{pid: 1, start: 0, namespace: 0, boot: strings.Repeat("0", 16)},
		{pid: math.MaxInt32, start: math.MaxUint64, namespace: math.MaxUint64, boot: "0123456789abcdef"},
	} {
		name := "a-b." + w.tag(math.MaxUint64) + ".tmp"
		if len(name) > 255-64 {
			t.Errorf("%q leaves no room for a pattern", name)
		}
		if got, ok := parseTemp(name); !ok || got != w {
			t.Errorf("%q: got %+v, %v", name, got, ok)
		}
		// One that somebody has changed is not ours.
		for i := range name {
			if !strings.Contains(name[:i+1], tagMark) && i < 4 || i >= len(name)-4 {
				continue
			}
			for _, c := range []byte("0a-") {
				changed := name[:i] + string(c) + name[i+1:]
				if got, ok := parseTemp(changed); ok && changed != name {
					t.Errorf("%q passes, as %+v", changed, got)
				}
			}
		}
	}
	if a, b := tempName("*"), tempName("*"); a == b {
		t.Errorf("the same name twice: %s", a)
	}
	for _, pattern := range []string{"*", ".*.tmp", "x*y"} {
		if w, ok := parseTemp(tempName(pattern)); !ok || w.pid != os.Getpid() {
			t.Errorf("%q: %+v, %v", pattern, w, ok)
		}
	}
}

func FuzzParseTemp(f *testing.F) {
	f.Add(tempName(defaultTemp))
	f.Add("stele-1-1-1-0123456789abcdef-1-00000000")
	f.Add("stele-")
	f.Fuzz(func(t *testing.T, name string) {
		w, ok := parseTemp(name)
		if !ok {
			return
		}
		if w.pid < 0 || len(w.boot) != 16 {
			t.Errorf("%q gives %+v", name, w)
		}
		if again, ok := parseTemp(w.tag(7)); !ok || again != w {
			t.Errorf("%+v came back as %+v, %v", w, again, ok)
		}
	})
}

func TestMayLive(t *testing.T) {
	me, err := thisWriter()
	if err != nil {
		t.Skip(err)
	}
	with := func(change func(w *writer)) writer {
		w := me
		change(&w)
		return w
	}
	otherBoot := func(w *writer) { w.boot = "0123456789abcdef" }
	for _, c := range []struct {
		name  string
		w     writer
		local bool
		lives bool
	}{
		{"this process", me, true, true},
		{"one that had its number before", with(func(w *writer) { w.start-- }), true, false},
		{"no such number", with(func(w *writer) { w.pid = math.MaxInt32 }), true, false},
		{"another PID namespace", with(func(w *writer) { w.namespace++ }), true, true},
		{"another boot, local disk", with(otherBoot), true, false},
		{"another boot, maybe another machine", with(otherBoot), false, true},
		{"unknown", with(func(w *writer) { *w = unknownWriter; w.pid = math.MaxInt32 }), true, true},
		{"init, whose number is taken", with(func(w *writer) { w.pid = 1; w.start = 1 << 60 }), true, os.Getuid() != 0 && hidden(t)},
	} {
		if why := c.w.mayLive(me, c.local); (why != "") != c.lives {
			t.Errorf("%s: %q, want alive: %v", c.name, why, c.lives)
		}
	}
}

// hidden reports whether /proc does not show other users' processes.
func hidden(t *testing.T) bool {
	_, err := os.ReadFile("/proc/1/stat")
	return err != nil
}
