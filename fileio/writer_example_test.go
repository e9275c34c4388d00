package fileio_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/fileio"
)

// Bytes written before a successful Commit survive a power cut.
func ExampleWriter() {
	dir, _ := os.MkdirTemp("", "fileio")
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "events"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	w, err := fileio.NewWriter(f, fileio.WriterOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(w, "one")
	fmt.Fprintln(w, "two")
	if err := w.Commit(); err != nil {
		fmt.Println(err)
	}
	fmt.Fprintln(w, "three")
	fmt.Println(w.Durable(), "of", w.Offset(), "bytes are durable")
	if err := w.Close(); err != nil { // the last commit: check its error
		fmt.Println(err)
	}
	written, committed := w.Promise()
	fmt.Println("a Write:", written.Level.Survives())
	fmt.Println("a Commit:", committed.Level.Survives())
	// Output:
	// 8 of 14 bytes are durable
	// a Write: lost when the process exits
	// a Commit: survives a power cut
}

// Each Write is durable when it returns, by one system call where the device can.
func ExampleEachWrite() {
	f, err := os.CreateTemp("", "fileio")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	w, err := fileio.NewWriter(f, fileio.WriterOptions{Policy: fileio.EachWrite(), Sync: fileio.SyncDsync})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(w, "a payment")
	fmt.Println(w.Durable() == w.Offset(), w.Close())
	// Output: true <nil>
}

// A power cut loses at most the writes of the last second.
func ExampleEveryInterval() {
	f, err := os.CreateTemp("", "fileio")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	w, err := fileio.NewWriter(f, fileio.WriterOptions{
		Policy:      fileio.EveryInterval(time.Second),
		Preallocate: 16 << 20,
		Trace: func(op fileio.Op) {
			if op.Kind == fileio.OpSync {
				fmt.Println("made", op.Bytes, "bytes durable")
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(w, "a line of a log")
	fmt.Println(w.Close()) // within the first second
	// Output:
	// made 16 bytes durable
	// <nil>
}

func ExampleCopyN() {
	dir, _ := os.MkdirTemp("", "fileio")
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "src"), []byte("head and body"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	src, err := os.Open(filepath.Join(dir, "src"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer src.Close()
	dst, err := os.Create(filepath.Join(dir, "dst"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dst.Close()
	done, err := fileio.CopyN(context.Background(), dst, src, 4, fileio.CopyOptions{})
	fmt.Println(done.Bytes, err)
	done, err = fileio.CopyN(context.Background(), dst, src, 100, fileio.CopyOptions{})
	fmt.Println(done.Bytes, err)
	// Output:
	// 4 <nil>
	// 9 EOF
}
