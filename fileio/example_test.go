package fileio_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/fileio"
)

// table creates a file of the numbers 0 to 1023, 8 bytes each.
func table() (name string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	var b []byte
	for i := range uint64(1024) {
		b = binary.LittleEndian.AppendUint64(b, i)
	}
	name = filepath.Join(dir, "table")
	if err := os.WriteFile(name, b, 0o644); err != nil {
		panic(err)
	}
	return name, func() { os.RemoveAll(dir) }
}

// A Reader reads like an os.File.
func ExampleOpen() {
	name, remove := table()
	defer remove()

	r, err := fileio.Open(name, fileio.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	b := make([]byte, 8)
	if _, err := r.ReadAt(b, 8*700); err != nil {
		fmt.Println(err)
	}
	fmt.Println(binary.LittleEndian.Uint64(b))

	n, err := io.Copy(io.Discard, r)
	fmt.Println(n, err)
	// Output:
	// 700
	// 8192 <nil>
}

// View gives the bytes in the mapping, without a copy. If another program truncates the
// file meanwhile, the result is an error, not the end of the process.
func ExampleReader_View() {
	name, remove := table()
	defer remove()

	r, err := fileio.Open(name, fileio.Options{Way: fileio.Mapped})
	if errors.Is(err, errors.ErrUnsupported) {
		r, err = fileio.Open(name, fileio.Options{}) // not on Linux
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	sum := uint64(0)
	err = r.View(0, 8*100, func(b []byte) error {
		for ; len(b) > 0; b = b[8:] {
			sum += binary.LittleEndian.Uint64(b)
		}
		return nil
	})
	fmt.Println(sum, err)
	// Output: 4950 <nil>
}

// Direct reads need no copy where memory, offset and length are aligned.
func ExampleAlignedBuffer() {
	name, remove := table()
	defer remove()

	r, err := fileio.Open(name, fileio.Options{Way: fileio.Direct})
	if errors.Is(err, errors.ErrUnsupported) {
		r, err = fileio.Open(name, fileio.Options{})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()

	b := fileio.AlignedBuffer(4096)
	n, err := r.ReadAt(b, 4096)
	fmt.Println(n, err, binary.LittleEndian.Uint64(b))
	// Output: 4096 <nil> 512
}

// Trace is called for each operation.
func ExampleOptions_trace() {
	name, remove := table()
	defer remove()

	r, err := fileio.Open(name, fileio.Options{Trace: func(op fileio.Op) {
		fmt.Println(op.Kind, op.Offset, op.Bytes, op.Err)
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r.ReadAt(make([]byte, 1000), 8000)
	r.Close()
	// Output:
	// open -1 0 <nil>
	// read 8000 192 EOF
	// close -1 0 <nil>
}
