package tempfile

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/sys"
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
		if got, ok := parse(name); !ok || got != w {
			t.Errorf("%q: got %+v, %v", name, got, ok)
		}
		// A changed tag is not recognized.
		for i := range name {
			if !strings.Contains(name[:i+1], tagMark) && i < 4 || i >= len(name)-4 {
				continue
			}
			for _, c := range []byte("0a-") {
				changed := name[:i] + string(c) + name[i+1:]
				if got, ok := parse(changed); ok && changed != name {
					t.Errorf("%q passes, as %+v", changed, got)
				}
			}
		}
	}
	if a, b := Name("*"), Name("*"); a == b {
		t.Errorf("the same name twice: %s", a)
	}
	for _, pattern := range []string{"*", ".*.tmp", "x*y"} {
		if w, ok := parse(Name(pattern)); !ok || w.pid != os.Getpid() {
			t.Errorf("%q: %+v, %v", pattern, w, ok)
		}
	}
}

// No tag is made that would not be recognized.
func TestWriterOf(t *testing.T) {
	for boot, want := range map[string]string{
		"0123456789abcdef0123456789abcdef": "0123456789abcdef",
		"0123456789abcdef":                 "0123456789abcdef",
		"0123456789abcde":                  "",
		"":                                 "",
		"0123456789ABCDEF0123456789ABCDEF": "",
		"sandbox-without-a-boot-id-so-far": "",
	} {
		w, err := writerOf(sys.Process{PID: 1, Boot: boot})
		if w.boot != want || (err == nil) != (want != "") {
			t.Errorf("%q: %+v, %v", boot, w, err)
		}
		if err != nil {
			continue
		}
		if got, ok := parse(w.tag(1)); !ok || got != w {
			t.Errorf("%q: came back as %+v, %v", boot, got, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Name(DefaultPattern))
	f.Add("stele-1-1-1-0123456789abcdef-1-00000000")
	f.Add("stele-")
	f.Fuzz(func(t *testing.T, name string) {
		w, ok := parse(name)
		if !ok {
			return
		}
		if w.pid < 0 || len(w.boot) != 16 {
			t.Errorf("%q gives %+v", name, w)
		}
		if again, ok := parse(w.tag(7)); !ok || again != w {
			t.Errorf("%+v came back as %+v, %v", w, again, ok)
		}
	})
}
