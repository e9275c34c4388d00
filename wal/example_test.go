//go:build !windows

// A system that cannot sync a directory has no log at level Power.

package wal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/wal"
)

// A log is opened, written, opened again and read.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	l, err := wal.Open(filepath.Join(dir, "log"), wal.Options{SegmentSize: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range []string{"cut a word", "into stone"} {
		pos, err := l.Append(ctx, []byte(s)) // it survives a power cut
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("appended", pos)
	}
	if err := l.Close(); err != nil {
		fmt.Println(err)
	}

	l, err = wal.Open(filepath.Join(dir, "log"), wal.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	fmt.Println("closed cleanly:", l.Recovered().Clean)
	for rec, err := range l.All(0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %s\n", rec.Position, rec.Data)
	}
	// Output:
	// appended 1
	// appended 2
	// closed cleanly: true
	// 1 cut a word
	// 2 into stone
}

// A Reader continues once there are more records.
func ExampleLog_Reader() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	l, err := wal.Open(dir, wal.Options{SegmentSize: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()

	r, err := l.Reader(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	_, err = r.Next()
	fmt.Println("at the end:", err == io.EOF)
	if _, err := l.Append(context.Background(), []byte("a record")); err != nil {
		fmt.Println(err)
	}
	rec, err := r.Next()
	fmt.Printf("%d %s %v\n", rec.Position, rec.Data, err)
	// Output:
	// at the end: true
	// 1 a record <nil>
}

// Damage is reported with file and offset, and the log is not changed.
func ExampleVerify() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	l, err := wal.Open(dir, wal.Options{SegmentSize: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := l.AppendBatch(context.Background(), [][]byte{[]byte("one"), []byte("two")}); err != nil {
		fmt.Println(err)
	}
	if err := l.Close(); err != nil {
		fmt.Println(err)
	}

	f, err := os.OpenFile(filepath.Join(dir, "0000000000000001.wal"), os.O_WRONLY, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	f.WriteAt([]byte("X"), 4096+24) // in the first record
	f.Close()

	_, err = wal.Verify(dir)
	if c, ok := errors.AsType[*wal.CorruptError](err); ok {
		fmt.Println(filepath.Base(c.File), c.Offset)
		fmt.Println(c.Reason)
	}
	// Output:
	// 0000000000000001.wal 4096
	// the checksum of the payload is wrong; it was durable when the record at offset 4150 was written
}

// A service exports each minute the latencies since the last export.
func ExampleLog_Stats() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	l, err := wal.Open(dir, wal.Options{SegmentSize: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()

	before := l.Stats()
	for range 200 {
		if _, err := l.Append(context.Background(), []byte("a record")); err != nil {
			fmt.Println(err)
			return
		}
	}
	now := l.Stats()
	appends := now.Append.Sub(before.Append)
	p99, longest := appends.Quantile(0.99), appends.Max()
	log.Printf("append p99 %v, max %v; sync %v", p99, longest, now.Sync.Sub(before.Sync))
	fmt.Println(appends.Count(), "appends;", "p99 is known:", p99 > 0 && p99 <= longest)
	// Output: 200 appends; p99 is known: true
}
