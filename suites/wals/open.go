package wals

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/wal"
)

// The log that experiment open opens: 1 GiB of records of 1 KiB in 16 files.
const (
	openBytes    = 1 << 30
	openRecord   = 1 << 10
	openSegments = 16
)

// The ways to look at a log that is there.
const (
	openWhole  = "wal.Open"
	openLazy   = "wal.Open lazy"
	openVerify = "wal.Verify"
	openRead   = "wal.Reader"
	openPlain  = "bufio.Reader, CRC-32C"
)

// An openWay opens a log that is there, or reads it through.
type openWay struct {
	name, doc string
	log       func(b *lab.B, total int64) (dir string, err error)
	do        func(dir string, o wal.Options) (records int64, err error)
}

var openWays = []openWay{
	{openPlain, "a file with frames of length and checksum: what a sequential read takes", plainLog,
		func(dir string, _ wal.Options) (int64, error) { return readPlain(filepath.Join(dir, "log")) }},
	{openWhole, "as it comes: every checksum verified, and closed again", steleLog, reopen},
	{openLazy, "LazyVerify: headers and the last segment, and closed again", steleLog, lazily(reopen)},
	{openVerify, "every checksum, nothing written and no lock taken", steleLog,
		func(dir string, _ wal.Options) (int64, error) {
			rep, err := wal.Verify(dir)
			return int64(rep.Next - rep.First), err
		}},
	{openRead, "opened with LazyVerify, every record read, and closed again", steleLog, lazily(readStele)},
}

// openOptions are those of a log of total bytes.
func openOptions(total int64) wal.Options {
	return wal.Options{SegmentSize: total / openSegments, Level: durability.Kill}
}

func lazily(do func(string, wal.Options) (int64, error)) func(string, wal.Options) (int64, error) {
	return func(dir string, o wal.Options) (int64, error) {
		o.LazyVerify = true
		return do(dir, o)
	}
}

func reopen(dir string, o wal.Options) (int64, error) {
	l, err := wal.Open(dir, o)
	if err != nil {
		return 0, err
	}
	first, next := l.Bounds()
	return int64(next - first), l.Close()
}

// reopening measures the recovery of a service: a log is opened, or read through.
func reopening(s job.Scale, state string) lab.Experiment {
	total := s.Of(openBytes)
	e := lab.Experiment{
		Suite: "wal", Name: "open", Params: run.Params{"cache": state},
		Question: fmt.Sprintf("How long does a log of %s take to be open again, or read, %s?", units.Size(total), datafile.StateText(state)),
		Op:       fmt.Sprintf("a log of %s with records of %s", units.Size(total), units.Size(openRecord)),
		// Opening a log leaves it as it was.
		Stateless: true, MaxRounds: 8,
	}
	if state == datafile.Cold {
		e.Ops = 1 // it is warm then
	}
	for _, w := range openWays {
		e.Variants = append(e.Variants, lab.Variant{
			Name: w.name, Doc: w.doc, Promise: job.NothingWritten(), Baseline: w.name == openPlain,
			Run: func(b *lab.B) error { return w.run(b, total) },
		})
	}
	return e
}

func (w openWay) run(b *lab.B, total int64) error {
	dir, err := w.log(b, total)
	if err != nil {
		return err
	}
	if err := prepareLog(dir, b.Params["cache"]); err != nil {
		return err
	}
	b.SetBytes(total)
	for b.Loop() {
		n, err := w.do(dir, openOptions(total))
		if err == nil && n != total/openRecord {
			err = fmt.Errorf("%s has %d records; want %d", dir, n, total/openRecord)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// steleLog returns the directory of a log that all blocks share.
func steleLog(b *lab.B, total int64) (string, error) {
	return b.Shared(fmt.Sprint("wal-", total), func(dir string) error {
		l, err := wal.Open(dir, openOptions(total))
		if err != nil {
			return err
		}
		batch := openBatch()
		for done := int64(0); done < total && err == nil; done += int64(len(batch)) * openRecord {
			_, err = l.AppendBatch(context.Background(), batch)
		}
		return errors.Join(err, l.Close())
	})
}

// plainLog is the same records in one file.
func plainLog(b *lab.B, total int64) (string, error) {
	return b.Shared(fmt.Sprint("plain-", total), func(dir string) error {
		f, err := NewFile(dir, 0)
		if err != nil {
			return err
		}
		var buf []byte
		for _, rec := range openBatch() {
			buf = AppendFrame(buf, rec)
		}
		for done := int64(0); done < total && err == nil; done += datafile.MiB {
			_, err = f.Write(buf)
		}
		return errors.Join(err, f.Sync(), f.Close())
	})
}

// openBatch is a MiB of records.
func openBatch() [][]byte {
	data := make([]byte, datafile.MiB)
	datafile.Noise()(data)
	var batch [][]byte
	for len(data) > 0 {
		batch, data = append(batch, data[:openRecord]), data[openRecord:]
	}
	return batch
}

// prepareLog reads all files in the directory into the page cache, or drops them
// from it.
func prepareLog(dir, state string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if err != nil {
			return err
		}
		name := filepath.Join(dir, e.Name())
		if state == datafile.Cold {
			err = datafile.Chill(name)
			continue
		}
		var f *os.File
		if f, err = os.Open(name); err == nil {
			_, err = io.Copy(io.Discard, f)
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

func readStele(dir string, o wal.Options) (n int64, err error) {
	l, err := wal.Open(dir, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	for _, err := range l.All(0) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func readPlain(name string) (n int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, datafile.MiB)
	var head [FrameHead]byte
	var rec []byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			if err == io.EOF {
				err = nil
			}
			return n, err
		}
		size := binary.LittleEndian.Uint32(head[:])
		if size > datafile.MiB {
			return n, fmt.Errorf("%s: record %d: %d bytes; want at most %d", name, n, size, datafile.MiB)
		}
		if int(size) > cap(rec) {
			rec = make([]byte, size)
		}
		rec = rec[:size]
		if _, err := io.ReadFull(r, rec); err != nil {
			return n, err
		}
		if crc32.Checksum(rec, frameTable) != binary.LittleEndian.Uint32(head[4:]) {
			return n, fmt.Errorf("%s: record %d: wrong checksum", name, n)
		}
		n++
	}
}
