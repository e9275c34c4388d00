package fileio_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/proofs/internal/prove"
)

const powerRecords = 18

// powerRecord returns the i-th record. Lengths differ, so that there are tails, whole
// blocks, and records longer than the buffer.
func powerRecord(i int) []byte {
	size := []int{100, 4096, 3000, 9000, 1, 20_000}[i%6]
	return bytes.Repeat([]byte{byte('a' + i)}, size)
}

// promised writes records, and acknowledges the number of bytes that the Writer says are
// durable.
func promised(o fileio.WriterOptions, commitEvery int) func(dir string, ack func(int64)) error {
	return func(dir string, ack func(int64)) (err error) {
		f, err := os.OpenFile(filepath.Join(dir, "file"), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		o.BufferSize = 8192
		w, err := fileio.NewWriter(f, o)
		if err != nil {
			return err
		}
		for i := range powerRecords {
			if _, err := w.Write(powerRecord(i)); err != nil {
				return err
			}
			if i%commitEvery == commitEvery-1 {
				if err := w.Commit(); err != nil {
					return err
				}
			}
			if o.Policy == fileio.EveryInterval(time.Millisecond) {
				time.Sleep(3 * time.Millisecond)
			}
			ack(durable(w))
		}
		if err := w.Close(); err != nil {
			return err
		}
		ack(w.Offset())
		return nil
	}
}

// afterOthers is promised for a Writer that continues a file with records that were
// written by another and not synced.
func afterOthers(o fileio.WriterOptions) func(dir string, ack func(int64)) error {
	return func(dir string, ack func(int64)) (err error) {
		f, err := os.OpenFile(filepath.Join(dir, "file"), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		for i := range 12 {
			if _, err := f.Write(powerRecord(i)); err != nil {
				return err
			}
		}
		w, err := fileio.NewWriter(f, o)
		if err != nil {
			return err
		}
		for i := 12; i < powerRecords; i++ {
			if _, err := w.Write(powerRecord(i)); err != nil {
				return err
			}
			if err := w.Commit(); err != nil {
				return err
			}
			ack(w.Durable())
		}
		return w.Close()
	}
}

// A commit covers the bytes that were in the file before the Writer, also by mechanisms
// that sync single writes.
func TestPowerAfterOthers(t *testing.T) {
	t.Parallel()
	for _, m := range []fileio.Mechanism{fileio.SyncDsync, fileio.SyncODsync} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			rec := powertest.Record(t, power.Options{FS: "ext4", Seed: prove.Seed(t), Prepare: emptyFile}, afterOthers(fileio.WriterOptions{Sync: m}))
			prove.Keeps(t, rec, prove.Cuts(), checkRecords)
		})
	}
}

// durable returns the number of bytes that count as durable. Settings that promise less
// than power count as if they promised it: those are the mutants.
func durable(w *fileio.Writer) int64 {
	if _, commit := w.Promise(); commit.Level != durability.Power {
		return w.Offset()
	}
	return w.Durable()
}

// emptyFile makes the file that is there before the first cut: a Writer does not promise
// its name.
func emptyFile(dir string) error {
	return os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)
}

func checkRecords(dir string, acked []int64) error {
	got, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil {
		return err
	}
	var want []byte
	for i := range powerRecords {
		want = append(want, powerRecord(i)...)
	}
	if len(acked) == 0 {
		return nil
	}
	n := int(acked[len(acked)-1])
	if len(got) < n || !bytes.Equal(got[:n], want[:n]) {
		return fmt.Errorf("%d bytes are durable, the file has %d: %w", n, len(got), prove.ErrLost)
	}
	return nil
}

// The bytes that the Writer calls durable are there after a power cut, by every mechanism
// and policy. The mutants lose some.
func TestPower(t *testing.T) {
	t.Parallel()
	for _, fs := range []string{"ext4", "xfs", "btrfs"} {
		for _, c := range []struct {
			name   string
			o      fileio.WriterOptions
			commit int
			lost   bool
			short  bool // on each file system, however few the cuts
		}{
			{name: "commit, fdatasync", commit: 3},
			{name: "commit of three, dsync", o: fileio.WriterOptions{Sync: fileio.SyncDsync}, commit: 3, short: true},
			{name: "commit, dsync", o: fileio.WriterOptions{Sync: fileio.SyncDsync}, commit: 1},
			{name: "commit, o_dsync", o: fileio.WriterOptions{Sync: fileio.SyncODsync}, commit: 2},
			{name: "direct, dsync", o: fileio.WriterOptions{Way: fileio.Direct, Sync: fileio.SyncDsync}, commit: 1, short: true},
			{name: "direct, fdatasync", o: fileio.WriterOptions{Way: fileio.Direct}, commit: 1},
			{name: "each write, fsync, preallocated", o: fileio.WriterOptions{Sync: fileio.SyncFsync, Policy: fileio.EachWrite(), Preallocate: 1 << 16}, commit: 100},
			{name: "every 10,000 bytes, uncached", o: fileio.WriterOptions{Policy: fileio.EveryBytes(10_000), Way: fileio.Uncached}, commit: 100},
			{name: "every millisecond", o: fileio.WriterOptions{Policy: fileio.EveryInterval(time.Millisecond)}, commit: 100},
			{name: "mutant: sync_file_range", o: fileio.WriterOptions{Sync: fileio.SyncRange}, commit: 1, lost: true, short: true},
			{name: "mutant: no sync", o: fileio.WriterOptions{Policy: fileio.Never()}, commit: 1, lost: true},
		} {
			t.Run(fs+"/"+c.name, func(t *testing.T) {
				if fs != "ext4" && !c.short && prove.Cuts() < 20 {
					t.Skip("with -cuts 20, or more")
				}
				t.Parallel()
				rec := powertest.Record(t, power.Options{FS: fs, Seed: prove.Seed(t), Prepare: emptyFile}, promised(c.o, c.commit))
				if c.lost {
					prove.Caught(t, rec, checkRecords)
				} else {
					prove.Keeps(t, rec, prove.Cuts(), checkRecords)
				}
			})
		}
	}
}
