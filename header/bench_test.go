package header_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/header"
)

// A change of a small file costs little but its system calls.
func BenchmarkSmall(b *testing.B) {
	heads := [2][]byte{[]byte("// the head\n"), []byte("// one head\n")}
	slot := header.Options{Mode: header.InPlace, Strategy: header.Slot, Level: kill.Level, Pad: header.PadByte(' ')}
	for _, c := range []struct {
		name string
		do   func(name string, from, to []byte) error
	}{
		{"way=copy", func(name string, from, to []byte) error {
			return second(header.Swap(b.Context(), name, from, to, kill))
		}},
		{"way=slot", func(name string, _, to []byte) error { return second(header.Replace(b.Context(), name, to, slot)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			name := filepath.Join(b.TempDir(), "file")
			must(b, os.WriteFile(name, append(bytes.Clone(heads[0]), make([]byte, 1000)...), 0o644))
			if c.name == "way=slot" {
				_, err := header.Reserve(b.Context(), name, 4096, header.Options{Level: kill.Level, Pad: slot.Pad})
				if errors.Is(err, errors.ErrUnsupported) {
					b.Skip(err)
				}
				must(b, err)
				must(b, second(header.Insert(b.Context(), name, heads[0], slot)))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				must(b, c.do(name, heads[i%2], heads[(i+1)%2]))
			}
		})
	}
}
