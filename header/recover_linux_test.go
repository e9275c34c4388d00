package header

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
)

// interruptions returns functions that make the states of an interrupted shift of base
// by hand: a gap at each extent, and the states before and after.
func interruptions(t *testing.T, f *os.File, base int64, head []byte) map[string]func() {
	extents, err := sys.Extents(f)
	check(t, err)
	gap := int64(len(head))
	at := func(x int64) func() { return func() { check(t, sys.InsertRange(f, x, gap)) } }
	list := map[string]func(){
		"nothing yet":       func() {},
		"size, by a part":   func() { check(t, f.Truncate((base+4095)/4096*4096)) },
		"size":              func() { check(t, f.Truncate(base+gap)) },
		"all but the head":  at(0),
		"all but a write":   func() { at(0)(); putAt(t, f, head[:4096], 0) },
		"room for the head": func() { at(0)(); check(t, fileop.Fallocate(f, 0, 0, gap)) },
		"all":               func() { at(0)(); putAt(t, f, head, 0) },
	}
	for i, e := range extents {
		if (i < 10 || i%100 == 0) && e.Off < base && e.Off > 0 {
			list[fmt.Sprintf("extents from %d on", i)] = at(e.Off)
		}
	}
	return list
}

func putAt(t *testing.T, f *os.File, b []byte, off int64) {
	t.Helper()
	_, err := f.WriteAt(b, off)
	check(t, err)
}

func TestRecoverShift(t *testing.T) {
	onShifting(t, func(t *testing.T, dir string) {
		for _, sh := range shapes {
			t.Run(sh.name, func(t *testing.T) {
				f, content := sh.make(t, dir)
				head := shiftHead(2)
				for name, interrupt := range interruptions(t, f, sh.size, head) {
					for _, kind := range []intentKind{insertShift, collapseShift} {
						in := &intent{kind: kind, record: []byte("new")}
						s := shifter{f: f, block: 4096}
						check(t, s.plan(&in.shift, sh.size, 0, head)) // a collapse has the same base
						check(t, writeIntent(f, in))
						interrupt()
						state, err := recoverLocked(f)
						if err != nil {
							t.Fatalf("%s, kind %d: %v", name, kind, err)
						}
						inserted := name == "all"
						want, wantState := content, Old
						if inserted {
							want, wantState = append(head[:len(head):len(head)], content...), New
						}
						if kind == collapseShift { // where the base is the new file
							wantState = Old + New - wantState
						}
						if state != wantState {
							t.Errorf("%s, kind %d: state %d, want %d", name, kind, state, wantState)
						}
						holds(t, f, want)
						noIntent(t, f)
						record := ""
						if wantState == New {
							record = "new"
						}
						hasRecord(t, f, record)
						check(t, setRecord(f, nil))
						if inserted {
							check(t, sys.CollapseRange(f, 0, int64(len(head))))
						}
						if state, err := recoverLocked(f); state != Clean || err != nil {
							t.Errorf("%s: again: state %d, %v", name, state, err)
						}
					}
				}
			})
		}
	})
}

// Changes by other programs since the interruption are kept, and reported.
func TestRecoverOthers(t *testing.T) {
	onShifting(t, func(t *testing.T, dir string) {
		head := shiftHead(2)
		for _, c := range []struct {
			name    string
			do      func(f *os.File)
			state   State
			damaged bool
		}{
			{"appended before", func(f *os.File) { appendTo(t, f, 9000) }, Old, false},
			{"appended after", func(f *os.File) {
				check(t, sys.InsertRange(f, 0, 8192))
				putAt(t, f, head, 0)
				appendTo(t, f, 9000)
			}, New, false},
			{"appended to a file with a gap", func(f *os.File) {
				check(t, sys.InsertRange(f, 4096, 8192))
				appendTo(t, f, 9000)
			}, Old, false},
			{"appended to a file that has only grown", func(f *os.File) {
				check(t, f.Truncate(50*4096+8192))
				appendTo(t, f, 9000)
			}, Clean, true},
			{"the head written over after", func(f *os.File) {
				check(t, sys.InsertRange(f, 0, 8192))
				putAt(t, f, head, 0)
				putAt(t, f, []byte("mine"), 5000)
			}, New, false},
			{"the head written over before it was there", func(f *os.File) {
				check(t, sys.InsertRange(f, 0, 8192))
				putAt(t, f, []byte("mine"), 5000)
			}, Clean, true},
			{"cut short", func(f *os.File) { check(t, f.Truncate(5000)) }, Clean, true},
			{"written into the gap", func(f *os.File) {
				check(t, sys.InsertRange(f, 4096, 8192))
				putAt(t, f, []byte("mine"), 5000)
			}, Clean, true},
		} {
			t.Run(c.name, func(t *testing.T) {
				sh := shape{name: c.name, size: 50 * 4096}
				f, content := sh.make(t, dir)
				in := &intent{kind: insertShift}
				s := shifter{f: f, block: 4096}
				check(t, s.plan(&in.shift, sh.size, 0, head))
				check(t, writeIntent(f, in))
				c.do(f)
				before, err := os.ReadFile(f.Name())
				check(t, err)
				state, err := recoverLocked(f)
				damaged, is := errors.AsType[*DamagedError](err)
				switch {
				case is != c.damaged || !c.damaged && err != nil:
					t.Fatalf("state %d, %v", state, err)
				case c.damaged:
					if damaged.Path != f.Name() || damaged.Why == "" {
						t.Errorf("%#v", damaged)
					}
					holds(t, f, before)
					if _, found, _ := readIntent(f); !found {
						t.Error("the intent is gone")
					}
					return
				}
				if state != c.state {
					t.Errorf("state %d, want %d", state, c.state)
				}
				noIntent(t, f)
				if strings.HasSuffix(c.name, "gap") {
					want := append(content[:len(content):len(content)], bytes.Repeat([]byte("a"), 9000)...)
					holds(t, f, want)
				} else {
					holds(t, f, before)
				}
			})
		}
		t.Run("zeros that fit two states", func(t *testing.T) {
			const size = 50 * 4096
			f, err := os.Create(filepath.Join(dir, "zeros"))
			check(t, err)
			defer f.Close()
			putAt(t, f, make([]byte, size), 0)
			check(t, errors.Join(f.Sync(), fileop.Fallocate(f, fileop.FallocKeepSize, size, 5*4096)))
			in := &intent{kind: insertShift}
			s := shifter{f: f, block: 4096}
			check(t, s.plan(&in.shift, size, 0, head))
			check(t, writeIntent(f, in))
			check(t, f.Truncate(size+8192))
			// Another strategy would be wrong too, so the error is not errNotApplicable.
			if _, err := recoverLocked(f); !errors.As(err, new(*DamagedError)) || errors.Is(err, errNotApplicable) {
				t.Errorf("%v", err)
			}
			holds(t, f, make([]byte, size+8192))
		})
		t.Run("copied with its attributes", func(t *testing.T) {
			f, content := shape{name: "copied", size: 50 * 4096}.make(t, dir)
			in := &intent{kind: insertShift}
			s := shifter{f: f, block: 4096}
			check(t, s.plan(&in.shift, 50*4096, 0, head))
			in.inode = 12345
			check(t, sys.SetAttr(int(f.Fd()), intentName, in.encode()))
			if state, err := recoverLocked(f); state != Clean || err != nil {
				t.Errorf("state %d, %v", state, err)
			}
			noIntent(t, f)
			holds(t, f, content)
		})
		t.Run("an intent of another version", func(t *testing.T) {
			f, content := shape{name: "version", size: 4096}.make(t, dir)
			check(t, sys.SetAttr(int(f.Fd()), intentName, []byte("StlI\xffwhatever it may say")))
			if _, err := recoverLocked(f); !errors.As(err, new(*DamagedError)) {
				t.Errorf("%v", err)
			}
			holds(t, f, content)
		})
	})
}

func TestRecoverSlot(t *testing.T) {
	dir := t.TempDir()
	old, data := bytes.Repeat([]byte("o"), 2000), bytes.Repeat([]byte("n"), 2000)
	const off = 300
	for _, c := range []struct {
		name    string
		write   func(slot []byte) // the slot begins at off
		state   State
		want    byte // of all bytes; 0: as they were
		damaged bool
	}{
		{"nothing yet", func([]byte) {}, Old, 'o', false},
		{"the first sector", func(b []byte) { copy(b[:212], data) }, New, 'n', false},
		{"the last sector", func(b []byte) { copy(b[1748:], data) }, New, 'n', false},
		{"all", func(b []byte) { copy(b, data) }, New, 'n', false},
		{"all, and written over", func(b []byte) { copy(b, data); b[700] = 'x' }, New, 0, false},
		{"nothing, and written over", func(b []byte) { b[700] = 'x' }, Old, 0, false},
		{"all written over", func(b []byte) { copy(b, bytes.Repeat([]byte("x"), 2000)) }, Clean, 0, false},
		{"torn and written over", func(b []byte) { copy(b[:212], data); b[700] = 'x' }, Clean, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := os.Create(filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-")))
			check(t, err)
			defer f.Close()
			slot := bytes.Clone(old)
			in := newSlotRedo(off, old, data, []byte("new"))
			putAt(t, f, []byte(strings.Repeat("h", off)), 0)
			putAt(t, f, []byte("tail"), off+2000)
			c.write(slot)
			putAt(t, f, slot, off)
			if err := writeIntent(f, in); errors.Is(err, errNotApplicable) {
				t.Skip(err)
			} else {
				check(t, err)
			}
			state, err := recoverLocked(f)
			if damaged := errors.As(err, new(*DamagedError)); damaged != c.damaged || err != nil && !damaged {
				t.Fatal(err)
			}
			if c.want != 0 {
				slot = bytes.Repeat([]byte{c.want}, 2000)
			}
			holds(t, f, []byte(strings.Repeat("h", off)+string(slot)+"tail"))
			if c.damaged {
				return
			}
			noIntent(t, f)
			if state != c.state {
				t.Errorf("state %d, want %d", state, c.state)
			}
		})
	}
}
