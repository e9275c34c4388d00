package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Each whole record of a torn tail is found without the salt, whatever else is damaged.
func TestSalvageTail(t *testing.T) {
	dir := t.TempDir()
	p, _ := openPen(t, dir, small())
	p.append(payload(1))
	off := p.off
	var ends []int64
	const last = 9
	for pos := Position(2); pos <= last; pos++ {
		rec := payload(pos)
		if pos == 5 {
			rec = nil
		}
		p.write(append(rec, 0)) // a tail ends with zeros, perhaps those of a record
		ends = append(ends, p.off-off)
	}
	p.kill()
	content := must(os.ReadFile(p.g.path))(t)[off:p.off]
	file := filepath.Join(t.TempDir(), "torn")
	for mask := range 1 << len(ends) {
		b := append(bytes.Clone(content), make([]byte, 100)...)
		want, holes := "", 0
		for i, end := range ends {
			if mask>>i&1 != 0 {
				b[end-2] ^= 1
				if i == 0 || mask>>(i-1)&1 == 0 {
					holes++
				}
			} else {
				want += fmt.Sprint(i+2, " ")
			}
		}
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		got, damaged := "", 0
		for r, err := range SalvageTail(file, off, 0) {
			if _, ok := errors.AsType[*CorruptError](err); ok {
				damaged++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprint(r.Position, " ")
			if r.Type != "data" || !bytes.Equal(r.Data[:len(r.Data)-1], payload(r.Position)) && r.Position != 5 {
				t.Fatalf("%d: %s %q", r.Position, r.Type, r.Data)
			}
		}
		if got != want || damaged != holes {
			t.Errorf("damaged %b: found %s, with %d holes; want %s, %d", mask, got, damaged, want, holes)
		}
	}
	for r, err := range SalvageTail(file+" none", off, 0) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %v", r, err)
		}
	}
	n := 0
	if err := os.WriteFile(file, content, 0o666); err != nil {
		t.Fatal(err)
	}
	for r := range SalvageTail(file, off, last-1) {
		if n++; r.Position < last-1 {
			t.Errorf("position %d", r.Position)
		}
	}
	if n != 2 {
		t.Errorf("%d records from %d on", n, last-1)
	}
}
