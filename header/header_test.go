package header_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// bytesOf returns n bytes in which each offset differs from the others.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + i>>16)
	}
	return b
}

func write(tb testing.TB, dir string, content []byte) string {
	tb.Helper()
	f, err := os.CreateTemp(dir, "f-*")
	must(tb, err)
	_, err = f.Write(content)
	must(tb, errors.Join(err, f.Close()))
	return f.Name()
}

func holds(tb testing.TB, name string, want []byte) {
	tb.Helper()
	got, err := os.ReadFile(name)
	must(tb, err)
	if !bytes.Equal(got, want) {
		at := 0
		for at < len(got) && at < len(want) && got[at] == want[at] {
			at++
		}
		tb.Fatalf("%s has %d bytes, want %d; they differ from byte %d on", filepath.Base(name), len(got), len(want), at)
	}
}

func only(tb testing.TB, dir string, names ...string) {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	must(tb, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(names)
	if !slices.Equal(got, names) {
		tb.Errorf("the directory holds %q, want %q", got, names)
	}
}

var kill = header.Options{Level: durability.Kill}

// Each way has the same result: header, padding where allowed, old content, for all of
// Insert, Replace, Remove and Swap. A way that cannot do it returns an error.
func TestWays(t *testing.T) {
	sizes := []int{0, 1, 4095, 4096, 1<<20 + 1}
	heads := []int{1, 128, 4096, 5000}
	for _, place := range places(t) {
		for _, way := range []header.Strategy{header.Auto, header.Slot, header.Shift, header.Clone, header.KernelCopy, header.Copy} {
			t.Run(place.name+"/"+way.String(), func(t *testing.T) {
				took := map[string]int{}
				for _, size := range sizes {
					for _, head := range heads {
						for _, pad := range []bool{false, true} {
							o := header.Options{Strategy: way, Level: durability.Kill}
							if way == header.Slot || way == header.Shift {
								o.Mode = header.InPlace
							}
							if pad {
								o.Pad = header.PadByte('\n')
							}
							took[oneFile(t, place.dir, o, bytesOf(size), bytesOf(head))]++
						}
					}
				}
				t.Log(took)
				if took["done"] == 0 && slices.Contains(place.can, way) {
					t.Errorf("%v did nothing", way)
				}
			})
		}
	}
}

// oneFile makes all changes to a file, and compares it with plain slices.
func oneFile(t *testing.T, dir string, o header.Options, content, head []byte) string {
	t.Helper()
	name := write(t, dir, content)
	defer os.Remove(name)
	what := fmt.Sprintf("%v, file of %d, header of %d, padded %v", o.Strategy, len(content), len(head), o.Pad != nil)

	// do checks one change. old is the head that it removes.
	now := content
	do := func(op string, old, head int64, want []byte, res header.Result, err error) bool {
		t.Helper()
		if errors.Is(err, header.ErrStrategy) {
			holds(t, name, now)
			return false
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", what, op, err)
		}
		if o.Strategy != header.Auto && res.Strategy != o.Strategy {
			t.Fatalf("%s: %s took %v", what, op, res.Strategy)
		}
		if res.Moved != head+res.Pad-old || res.Header != head {
			t.Fatalf("%s: %s of %d for %d: %+v", what, op, head, old, res)
		}
		if o.Pad == nil && res.Pad != 0 {
			t.Fatalf("%s: %s padded by %d", what, op, res.Pad)
		}
		rest := want[head:]
		now = slices.Concat(want[:head], bytes.Repeat([]byte("\n"), int(res.Pad)), rest)
		holds(t, name, now)
		return true
	}

	res, err := header.Insert(context.Background(), name, head, o)
	if !do("insert", 0, int64(len(head)), slices.Concat(head, content), res, err) {
		return "cannot"
	}
	slot := res.Header + res.Pad
	switch got, err := header.Read(context.Background(), name, header.Options{}); {
	case errors.Is(err, header.ErrNoHeader) && res.Why != "": // no record is possible here
		return "done"
	case err != nil || !bytes.Equal(got, head):
		t.Fatalf("%s: read %d bytes, %v", what, len(got), err)
	}
	for _, other := range [][]byte{bytesOf(len(head) + 77), bytesOf(max(1, len(head)/2)), bytesOf(len(head))} {
		res, err = header.Replace(context.Background(), name, other, o)
		if do("replace", slot, int64(len(other)), slices.Concat(other, content), res, err) {
			slot = res.Header + res.Pad
			got, err := header.Read(context.Background(), name, header.Options{})
			if err != nil || !bytes.Equal(got, other) {
				t.Fatalf("%s: read %d bytes, %v", what, len(got), err)
			}
		}
	}
	res, err = header.Remove(context.Background(), name, o)
	if !do("remove", slot, 0, content, res, err) {
		return "in part"
	}
	if _, err := header.Read(context.Background(), name, header.Options{}); !errors.Is(err, header.ErrNoHeader) {
		t.Fatalf("%s: read after remove: %v", what, err)
	}
	old := content[:min(len(content), 100)]
	res, err = header.Swap(context.Background(), name, old, head, o)
	if res.Strategy != header.Auto {
		do("swap", int64(len(old)), int64(len(head)), slices.Concat(head, content[len(old):]), res, err)
	}
	return "done"
}

// Where space is reserved, a header goes there on every file system and at every level,
// and the file keeps its inode.
func TestSlot(t *testing.T) {
	for _, place := range places(t) {
		for _, level := range []durability.Level{durability.Power, durability.Kill} {
			t.Run(fmt.Sprintf("%s/%v", place.name, level), func(t *testing.T) {
				content := bytesOf(100_000)
				name := write(t, place.dir, content)
				o := header.Options{Level: level, Mode: header.InPlace, Pad: header.PadByte(' ')}
				if _, err := header.Reserve(context.Background(), name, 4096, header.Options{Pad: o.Pad}); err != nil {
					t.Skip("no space can be reserved here: ", err)
				}
				before, err := os.Stat(name)
				must(t, err)
				slot := func(res header.Result, err error, head ...string) {
					t.Helper()
					must(t, err)
					if res.Strategy != header.Slot || res.Promise != (durability.Promise{Level: level}) || res.Moved != 0 {
						t.Errorf("%+v", res)
					}
					want := bytes.Repeat([]byte(" "), 4096)
					n := 0
					for _, h := range head {
						n += copy(want[n:], h)
					}
					holds(t, name, slices.Concat(want, content))
				}
				res, err := header.Insert(context.Background(), name, []byte("one"), o)
				slot(res, err, "one")
				res, err = header.Insert(context.Background(), name, []byte("second"), o)
				slot(res, err, "second", "one")
				res, err = header.Replace(context.Background(), name, []byte("2"), o)
				slot(res, err, "2", "one")
				res, err = header.Remove(context.Background(), name, o)
				slot(res, err, "one")
				res, err = header.Remove(context.Background(), name, o)
				slot(res, err)
				after, err := os.Stat(name)
				must(t, err)
				if !os.SameFile(before, after) {
					t.Error("another file has the name")
				}
				if state, err := header.Recover(context.Background(), name, header.Options{}); state != header.Clean || err != nil {
					t.Errorf("%v, %v", state, err)
				}
			})
		}
	}
}

// An intent that does not fit an attribute cannot be recorded: at level Kill that is an
// error, at level Power another strategy is used.
func TestSlotTooLarge(t *testing.T) {
	for _, place := range images() {
		if place.name != "ext4" {
			continue
		}
		name := write(t, place.dir, bytesOf(10))
		o := header.Options{Level: durability.Kill, Mode: header.InPlace, Pad: header.PadByte(' ')}
		_, err := header.Reserve(context.Background(), name, 16<<10, o)
		must(t, err)
		head := bytesOf(8 << 10)
		res, err := header.Insert(context.Background(), name, head, o)
		must(t, err)
		if res.Strategy != header.Slot || res.Promise.After != durability.Torn || res.Why == "" {
			t.Errorf("%+v", res)
		}
		got, err := header.Read(context.Background(), name, header.Options{})
		if err != nil || !bytes.Equal(got, head) {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		o.Level = durability.Power
		slices.Reverse(head)
		res, err = header.Replace(context.Background(), name, head, o)
		must(t, err)
		if res.Strategy == header.Slot || res.Promise.After != durability.OldOrNew || res.Why == "" {
			t.Errorf("%+v", res)
		}
	}
}

func TestStack(t *testing.T) {
	for _, o := range []header.Options{kill, {Level: durability.Kill, Mode: header.InPlace, Pad: header.PadByte(' ')}} {
		name := write(t, home(t), []byte("content"))
		var want []string
		for i := range 20 {
			h := fmt.Sprintf("header %d\n", i)
			_, err := header.Insert(context.Background(), name, []byte(h), o)
			must(t, err)
			want = append(want, h)
		}
		for i := len(want) - 1; i >= 0; i-- {
			got, err := header.Read(context.Background(), name, header.Options{})
			must(t, err)
			if string(got) != want[i] {
				t.Fatalf("read %q, want %q", got, want[i])
			}
			_, err = header.Remove(context.Background(), name, o)
			must(t, err)
		}
		holds(t, name, []byte("content"))
	}
}

// With very many headers the oldest become content.
func TestManyHeaders(t *testing.T) {
	name := write(t, home(t), nil)
	var want []byte
	for i := range 100 {
		h := []byte{byte(i)}
		_, err := header.Insert(context.Background(), name, h, kill)
		must(t, err)
		want = append(h, want...)
	}
	holds(t, name, want)
	n := 0
	for ; ; n++ {
		if _, err := header.Remove(context.Background(), name, kill); errors.Is(err, header.ErrNoHeader) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if n != 32 { // each in a slot of its own: two entries
		t.Errorf("%d headers were kept", n)
	}
	holds(t, name, want[n:])
}

func TestReserve(t *testing.T) {
	in := header.Options{Level: durability.Kill, Mode: header.InPlace, Pad: header.PadByte('.')}
	name := write(t, home(t), []byte("content"))
	step := func(op string, res header.Result, err error, way header.Strategy, want string) {
		t.Helper()
		must(t, err)
		if res.Strategy != way {
			t.Errorf("%s took %v: %s", op, res.Strategy, res.Why)
		}
		holds(t, name, []byte(want))
	}
	if _, err := header.Reserve(context.Background(), name, 16, kill); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Reserve without Pad: %v", err)
	}
	atomic := header.Options{Level: durability.Kill, Pad: in.Pad} // in place the padding would be whole blocks
	res, err := header.Reserve(context.Background(), name, 16, atomic)
	step("reserve", res, err, header.Copy, "................content")
	res, err = header.Reserve(context.Background(), name, 10, in)
	step("reserve less", res, err, header.Auto, "................content")
	if _, err := header.Read(context.Background(), name, header.Options{}); !errors.Is(err, header.ErrNoHeader) {
		t.Errorf("Read of empty room: %v", err)
	}
	res, err = header.Insert(context.Background(), name, []byte("abc"), in)
	step("insert", res, err, header.Slot, "abc.............content")
	if res.Header != 3 || res.Pad != 13 || res.Moved != 0 {
		t.Errorf("%+v", res)
	}
	res, err = header.Insert(context.Background(), name, []byte("DEFG"), header.Options{Level: durability.Power, Mode: header.InPlace})
	step("insert before", res, err, header.Slot, "DEFGabc.........content")
	if res.Promise != (durability.Promise{}) {
		t.Errorf("promises %v", res.Promise)
	}
	res, err = header.Replace(context.Background(), name, []byte("hi"), in)
	step("replace", res, err, header.Slot, "hiabc...........content")
	res, err = header.Replace(context.Background(), name, []byte("0123456789abc"), in)
	step("fill", res, err, header.Slot, "0123456789abcabccontent")
	if _, err := header.Insert(context.Background(), name, []byte("x"), header.Options{Mode: header.InPlace, Strategy: header.Slot}); !errors.Is(err, header.ErrStrategy) {
		t.Errorf("insert into a full slot: %v", err)
	}
	res, err = header.Remove(context.Background(), name, in)
	step("remove", res, err, header.Slot, "abc.............content")
	res, err = header.Reserve(context.Background(), name, 20, atomic)
	step("reserve more", res, err, header.Copy, "abc.................content")
	// Atomic changes use the space too, and keep its size.
	res, err = header.Insert(context.Background(), name, []byte("new"), header.Options{})
	step("atomic insert", res, err, header.Copy, "newabc..............content")
	res, err = header.Remove(context.Background(), name, header.Options{})
	step("atomic remove, no padding", res, err, header.Copy, "abc..............content")
	res, err = header.Remove(context.Background(), name, in)
	step("remove last", res, err, header.Slot, ".................content")
	if _, err := header.Remove(context.Background(), name, in); !errors.Is(err, header.ErrNoHeader) {
		t.Errorf("remove from empty room: %v", err)
	}
	// A header after empty space is still known.
	must(t, os.WriteFile(name, []byte("content"), 0o644))
	_, err = header.Insert(context.Background(), name, []byte("old\n"), kill)
	must(t, err)
	_, err = header.Reserve(context.Background(), name, 8, atomic)
	must(t, err)
	res, err = header.Replace(context.Background(), name, []byte("changed\n"), kill)
	step("replace below room", res, err, header.Copy, "........changed\ncontent")
	res, err = header.Remove(context.Background(), name, kill)
	step("remove below room", res, err, header.Copy, "........content")
}

// A head that another program changed is never taken for a header, and its padding is
// not overwritten.
func TestForeign(t *testing.T) {
	in := header.Options{Level: durability.Kill, Mode: header.InPlace, Pad: header.PadByte('.')}
	for _, c := range []struct {
		what   string
		change func(t *testing.T, name string)
	}{
		{"header", func(t *testing.T, name string) { overwrite(t, name, "X", 1) }},
		{"padding", func(t *testing.T, name string) { overwrite(t, name, "X", 20) }},
		{"all", func(t *testing.T, name string) { must(t, os.WriteFile(name, []byte("other text"), 0o644)) }},
		{"cut", func(t *testing.T, name string) { must(t, os.Truncate(name, 10)) }},
		{"emptied", func(t *testing.T, name string) { must(t, os.Truncate(name, 0)) }},
	} {
		t.Run(c.what, func(t *testing.T) {
			name := write(t, home(t), []byte("content"))
			_, err := header.Reserve(context.Background(), name, 32, header.Options{Pad: in.Pad})
			must(t, err)
			_, err = header.Insert(context.Background(), name, []byte("header"), in)
			must(t, err)
			c.change(t, name)
			before, err := os.ReadFile(name)
			must(t, err)
			for op, f := range map[string]func() (any, error){
				"read":    func() (any, error) { return header.Read(context.Background(), name, header.Options{}) },
				"remove":  func() (any, error) { return header.Remove(context.Background(), name, in) },
				"replace": func() (any, error) { return header.Replace(context.Background(), name, []byte("x"), in) },
			} {
				if _, err := f(); !errors.Is(err, header.ErrNoHeader) {
					t.Errorf("%s: %v", op, err)
				}
			}
			holds(t, name, before)
			_, err = header.Insert(context.Background(), name, []byte("top\n"), kill)
			must(t, err)
			holds(t, name, slices.Concat([]byte("top\n"), before))
			_, err = header.Remove(context.Background(), name, kill)
			must(t, err)
			holds(t, name, before)
		})
	}
}

func overwrite(t *testing.T, name, s string, off int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte(s), off)
	must(t, errors.Join(err, f.Close()))
}

func TestSwap(t *testing.T) {
	name := write(t, home(t), []byte("// Copyright 2020\npackage x\n"))
	res, err := header.Swap(context.Background(), name, []byte("// Copyright 2020\n"), []byte("// Copyright 2026\n"), header.Options{})
	must(t, err)
	if res.Strategy != header.Copy || res.Promise != (durability.Promise{}) {
		t.Errorf("%+v", res)
	}
	holds(t, name, []byte("// Copyright 2026\npackage x\n"))
	if _, err := header.Swap(context.Background(), name, []byte("// Copyright 2020\n"), []byte("x"), kill); !errors.Is(err, header.ErrChanged) {
		t.Errorf("%v", err)
	}
	if _, err := header.Swap(context.Background(), name, bytes.Repeat([]byte("x"), 1000), nil, kill); !errors.Is(err, header.ErrChanged) {
		t.Errorf("%v", err)
	}
	holds(t, name, []byte("// Copyright 2026\npackage x\n"))
	res, err = header.Swap(context.Background(), name, []byte("// Copyright 2026\n"), []byte("// Copyright 2026\n"), kill)
	must(t, err)
	if res.Strategy != header.Auto {
		t.Errorf("%+v", res)
	}
	_, err = header.Swap(context.Background(), name, []byte("// Copyright 2026\n"), nil, kill)
	must(t, err)
	holds(t, name, []byte("package x\n"))

	// In place, because the length stays. The record is removed.
	_, err = header.Insert(context.Background(), name, []byte("head\n"), kill)
	must(t, err)
	res, err = header.Swap(context.Background(), name, []byte("head\n"), []byte("HEAD\n"), header.Options{Mode: header.InPlace})
	must(t, err)
	if res.Strategy == header.Auto || res.Moved != 0 {
		t.Errorf("%+v", res)
	}
	holds(t, name, []byte("HEAD\npackage x\n"))
	if _, err := header.Read(context.Background(), name, header.Options{}); !errors.Is(err, header.ErrNoHeader) {
		t.Errorf("%v", err)
	}
}

func TestRefused(t *testing.T) {
	dir := home(t)
	name := write(t, dir, []byte("content"))
	for what, err := range map[string]error{
		"mode":      second(header.Insert(context.Background(), name, []byte("x"), header.Options{Mode: 9})),
		"strategy":  second(header.Insert(context.Background(), name, []byte("x"), header.Options{Strategy: 9})),
		"level":     second(header.Insert(context.Background(), name, []byte("x"), header.Options{Level: 9})),
		"keep":      second(header.Insert(context.Background(), name, []byte("x"), header.Options{Keep: 0x80})),
		"nothing":   second(header.Insert(context.Background(), name, []byte("x"), header.Options{Keep: atomicfile.KeepNothing | atomicfile.KeepMode})),
		"directory": second(header.Insert(context.Background(), dir, []byte("x"), kill)),
		"missing":   second(header.Insert(context.Background(), filepath.Join(dir, "none"), []byte("x"), kill)),
		"empty":     second(header.Insert(context.Background(), "", []byte("x"), kill)),
		"replace":   second(header.Replace(context.Background(), name, nil, kill)),
		"reserve":   second(header.Reserve(context.Background(), name, -1, header.Options{Pad: header.PadByte(0)})),
		"atomic":    second(header.Insert(context.Background(), name, []byte("x"), header.Options{Strategy: header.Slot})),
	} {
		if _, ok := errors.AsType[*fs.PathError](err); !ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	holds(t, name, []byte("content"))
	res, err := header.Insert(context.Background(), name, nil, header.Options{})
	if err != nil || res.Strategy != header.Auto {
		t.Errorf("nothing to insert: %+v, %v", res, err)
	}
	only(t, dir, filepath.Base(name))
}

func second[T any](_ T, err error) error { return err }
