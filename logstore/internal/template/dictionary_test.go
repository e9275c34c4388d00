package template

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
)

func texts(literals ...string) Template {
	var list [][]byte
	for _, l := range literals {
		list = append(list, []byte(l))
	}
	return New(list...)
}

func TestTemplate(t *testing.T) {
	for _, literals := range [][]string{{""}, {"", ""}, {"a"}, {"", "b", "", "c d"}, {"\xff\x00", ""}} {
		one := texts(literals...)
		if one.Slots() != len(literals)-1 {
			t.Errorf("%q: %d slots", literals, one.Slots())
		}
		for i, want := range literals {
			if got := string(one.Literal(i)); got != want {
				t.Errorf("%q: literal %d is %q", literals, i, got)
			}
		}
		if got := one.String(); got != strings.Join(literals, "<*>") {
			t.Errorf("%q: %q", literals, got)
		}
		if got := string(one.Text()); got != strings.Join(literals, "") {
			t.Errorf("%q: %q", literals, got)
		}
	}
	if (Template{}).Key() != New().Key() || New().Key() != texts("").Key() || Plain.Slots() != 1 {
		t.Error("templates without literals differ")
	}
	if texts("a", "b").Key() == texts("ab", "").Key() {
		t.Error("slots at different places, and the same key")
	}
}

// The example of the package comment.
func TestDictionaryLayout(t *testing.T) {
	var d Dictionary
	d.Add(texts("GET ", " took ", ""))
	d.Add(Plain)
	want := []byte("\x01\x02GET \x00 took \x00\x01\x00\x01")
	if got := d.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("% x; want % x", got, want)
	}
}

func sameDictionary(t *testing.T, got, want *Dictionary) {
	t.Helper()
	if got.Len() != want.Len() || got.Bytes() != want.Bytes() {
		t.Fatalf("%d templates of %d bytes; want %d of %d", got.Len(), got.Bytes(), want.Len(), want.Bytes())
	}
	for i, w := range want.All() {
		g := got.At(i)
		if g.Key() != w.Key() || g.String() != w.String() || !slices.Equal(g.ends, w.ends) {
			t.Fatalf("template %d is %q; want %q", i, g, w)
		}
		if id, ok := got.Find(w.Key()); !ok || id != i {
			t.Fatalf("template %d is found as %d, %v", i, id, ok)
		}
	}
}

func TestDictionary(t *testing.T) {
	var d Dictionary
	for i := range 1000 {
		one := texts(fmt.Sprint("line ", i), strings.Repeat("x", i%7), "")
		for range 2 {
			if id, ok := d.Add(one); !ok || int(id) != i {
				t.Fatalf("template %d is added as %d, %v", i, id, ok)
			}
		}
	}
	if _, ok := d.Find(Plain.Key()); ok {
		t.Error("found what was not added")
	}
	p := d.Append([]byte("before"))[len("before"):]
	got, err := Decode(p)
	if err != nil {
		t.Fatal(err)
	}
	clear(p)
	sameDictionary(t, got, &d)
	c := got.Clone()
	sameDictionary(t, c, &d)
	c.Add(Plain)
	sameDictionary(t, got, &d)
	if d.Weight() < int64(d.Bytes()) {
		t.Errorf("weight %d", d.Weight())
	}
	if empty, err := Decode((&Dictionary{}).Append(nil)); err != nil || empty.Len() != 0 {
		t.Errorf("an empty dictionary: %v", err)
	}
}

func TestDictionaryBounds(t *testing.T) {
	var d Dictionary
	for _, one := range []Template{New(make([][]byte, MaxSlots+2)...), texts(strings.Repeat("a", MaxLiteral+1))} {
		if _, ok := d.Add(one); ok || Fits(one) {
			t.Errorf("a template of %d slots and %d bytes was added", one.Slots(), len(one.Text()))
		}
	}
	if _, ok := d.Add(New(make([][]byte, MaxSlots+1)...)); !ok {
		t.Errorf("a template of %d slots was not added", MaxSlots)
	}
	large := strings.Repeat("a", MaxLiteral-5)
	for n := 0; ; n++ {
		if _, ok := d.Add(texts(fmt.Sprintf("%05d", n), large)); !ok {
			break
		}
	}
	if d.Bytes() > MaxBytes || d.Bytes() < MaxBytes-MaxLiteral-100 {
		t.Errorf("%d bytes; want at most %d", d.Bytes(), MaxBytes)
	}
	if got, err := Decode(d.Append(nil)); err != nil {
		t.Error(err)
	} else {
		sameDictionary(t, got, &d)
	}
	d = Dictionary{}
	for n := range MaxTemplates {
		d.Add(texts(fmt.Sprint(n)))
	}
	if _, ok := d.Add(Plain); ok || d.Len() != MaxTemplates {
		t.Errorf("%d templates", d.Len())
	}
	if id, ok := d.Add(texts("77")); !ok || id != 77 {
		t.Error("a full dictionary does not find a template")
	}
	if _, err := Decode(d.Append(nil)); err != nil {
		t.Error(err)
	}
}

// manyLong returns n encoded templates of almost MaxLiteral bytes.
func manyLong(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(strings.Repeat(string(rune('A'+i)), MaxLiteral-1) + "\x01")
	}
	return text.String()
}

// A template is refused where it passes a bound, and is not read to its end before.
func TestDecodeLongTemplates(t *testing.T) {
	const size = 2 * MaxBytes
	for of, want := range map[string]error{"\x00": errSlots, "a": errLiterals, "\x02\x00": errLiterals} {
		p := []byte("\x01\x01" + strings.Repeat(of, size/len(of)) + "\x01")
		n := filetest.Allocated(func() {
			if _, err := Decode(p); !errors.Is(err, want) {
				t.Errorf("a template of %d times %q: %v; want %v", size/len(of), of, err, want)
			}
		})
		if n > MaxBytes+1<<20 {
			t.Errorf("a template of %d times %q takes %d bytes", size/len(of), of, n)
		}
	}
	for name, fits := range map[string]Template{"slots": New(make([][]byte, MaxSlots+1)...), "bytes": New(bytes.Repeat([]byte{slotByte}, MaxLiteral))} {
		var d Dictionary
		d.Add(fits)
		if got, err := Decode(d.Append(nil)); err != nil || got.At(0).Key() != fits.Key() {
			t.Errorf("a template with the most %s: %v", name, err)
		}
	}
}

func TestDecodeDamaged(t *testing.T) {
	for name, p := range map[string]string{
		"empty":             "",
		"version 0":         "\x00\x00",
		"no count":          "\x01",
		"more than it has":  "\x01\x02\x01",
		"a huge count":      "\x01\xff\xff\xff\xff\x0f",
		"slots":             "\x01\x01" + strings.Repeat("\x00", MaxSlots+1) + "\x01",
		"no end":            "\x01\x01\x00\x00",
		"no byte to escape": "\x01\x01\x00\x02",
		"an escaped letter": "\x01\x01\x02a\x01",
		"an escaped end":    "\x01\x01\x02\x01",
		"a long literal":    "\x01\x01" + strings.Repeat("a", MaxLiteral+1) + "\x01",
		"long keys":         "\x01\x42" + manyLong(66),
		"twice":             "\x01\x02a\x01a\x01",
		"a long varint":     "\x01\x81\x00a\x01",
		"bytes behind":      "\x01\x01a\x01b",
	} {
		if _, err := Decode([]byte(p)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Decode([]byte("\x02")); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("a newer version: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	var d Dictionary
	for _, one := range []Template{Plain, New(), texts("a ", " b"), texts("", ": ", "", "\n"), texts("a \x00", "\xff"), texts("\x01\x02", "\x02", "\x00\x00", "")} {
		d.Add(one)
		f.Add(d.Append(nil))
	}
	f.Add([]byte("\x02"))
	f.Fuzz(func(t *testing.T, p []byte) {
		d, err := Decode(p)
		if err != nil {
			if _, newer := errors.AsType[*VersionError](err); !newer && !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if got := d.Append(nil); !bytes.Equal(got, p) {
			t.Fatalf("% x is decoded and encoded as % x", p, got)
		}
		for i, one := range d.All() {
			var literals [][]byte
			for j := range one.Slots() + 1 {
				literals = append(literals, one.Literal(j))
			}
			if id, ok := d.Find(New(literals...).Key()); !ok || id != i {
				t.Fatalf("template %d is found as %d, %v", i, id, ok)
			}
		}
	})
}
