package scratch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestOwnerFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "owner"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := readOwner(f); err != errNoOwner {
		t.Errorf("empty: %v", err)
	}
	want := newOwner("directory", true)
	if err := writeOwner(f, want); err != nil {
		t.Fatal(err)
	}
	f.Seek(0, 0)
	if got, err := readOwner(f); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v %v, want %+v", got, err, want)
	}
}

func TestReadOwnerRefuses(t *testing.T) {
	for _, s := range []string{
		"{",
		"null",
		`{"schema":"stele.place/2","kind":"directory","pid":1}`,
		`{"schema":"stele.place/1","kind":"directory","pid":0}`,
		`{"schema":"stele.place/1","pid":1}`,
		`{"schema":"stele.place/1","kind":"directory","pid":1}` + strings.Repeat(" ", maxOwner),
	} {
		if o, err := readOwner(strings.NewReader(s)); err == nil {
			t.Errorf("%.60q gave %+v, want an error", s, o)
		}
	}
}

func FuzzReadOwner(f *testing.F) {
	good, _ := json.Marshal(newOwner("ext4", true))
	f.Add(string(good))
	f.Add("{}")
	f.Fuzz(func(t *testing.T, s string) {
		o, err := readOwner(strings.NewReader(s))
		if err == nil && (o.PID <= 0 || o.Schema != ownerSchema || o.Kind == "") {
			t.Errorf("%q gave %+v", s, o)
		}
	})
}

func TestOwnerLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are told apart through /proc")
	}
	me := newOwner("", false)
	const noPID = 1 << 30 // above the kernel's limit of 2^22
	for _, c := range []struct {
		name   string
		change func(o *owner)
		gone   bool
		why    string
	}{
		{"this very process, though its lock is free", func(o *owner) { o.Locked = true }, false, "lives"},
		{"no such process", func(o *owner) { o.PID = noPID }, true, ""},
		{"its number belongs to another process", func(o *owner) { o.Start = "1" }, true, ""},
		{"another machine", func(o *owner) { o.Host = "elsewhere."; o.PID = noPID; o.Locked = true }, false, "another machine"},
		{"before a reboot, locked", func(o *owner) { o.Boot = "other"; o.Locked = true }, true, ""},
		{"before a reboot, no locks", func(o *owner) { o.Boot = "other" }, false, "cannot tell"},
		{"another container, locked", func(o *owner) { o.Namespace = "pid:[1]"; o.Locked = true }, true, ""},
		{"another container, no locks", func(o *owner) { o.Namespace = "pid:[1]"; o.PID = noPID }, false, "cannot tell"},
	} {
		o := me
		c.change(&o)
		gone, why := o.exited(me)
		if gone != c.gone || !strings.Contains(why, c.why) || gone != (why == "") {
			t.Errorf("%s: %v %q", c.name, gone, why)
		}
	}
}
