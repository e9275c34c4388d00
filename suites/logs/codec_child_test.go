package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/logstore"
)

// open opens the file of lines of a job.
func (j *codecJob) open() (*logFile, error) {
	if j.JSON {
		return openLogFile(j.File, NewStructured(1, true).Labels())
	}
	b := barsJob{File: j.File, Corpus: j.Corpus}
	return b.file()
}

// codecParts has bytes a line by the part of segments that takes them.
type codecParts map[string]float64

func (p codecParts) sum() (sum float64) {
	for _, bytes := range p {
		sum += bytes
	}
	return sum
}

// String lists the parts, the largest one first.
func (p codecParts) String() string {
	type part struct {
		name  string
		bytes float64
	}
	var list []part
	for name, bytes := range p {
		list = append(list, part{name, bytes})
	}
	slices.SortFunc(list, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), strings.Compare(a.name, b.name))
	})
	var text strings.Builder
	fmt.Fprintf(&text, "%.3f bytes a line:", p.sum())
	for _, one := range list {
		fmt.Fprintf(&text, " %s %.3f", one.name, one.bytes)
	}
	return text.String()
}

// partsOf returns what the segments of a store consist of, and its other files but the log.
func partsOf(dir string, lines int64) (codecParts, error) {
	_, all, err := dirSize(dir)
	if err != nil {
		return nil, err
	}
	_, log, err := dirSize(filepath.Join(dir, "wal"))
	if err != nil {
		return nil, err
	}
	found, err := logstore.Inspect(dir)
	if err != nil {
		return nil, err
	}
	others, parts := all-log, codecParts{}
	for _, info := range found.Segments {
		others -= info.Size
		costs, err := costsOf(info.File)
		if err != nil {
			return nil, err
		}
		for _, c := range costs {
			parts[c.Part] += float64(c.Bytes) / float64(lines)
		}
	}
	parts["other files"] = float64(others) / float64(lines)
	return parts, nil
}

func costsOf(segment string) ([]logstore.Cost, error) {
	s, err := logstore.InspectSegment(segment)
	if err != nil {
		return nil, err
	}
	costs, err := s.Costs()
	return costs, errors.Join(err, s.Close())
}

// codecIngest are the figures of appends as fast as they go.
type codecIngest struct {
	ingestFigures
	Parts codecParts
}

func codecIngestOf(job codecJob) (any, error) {
	lines, err := job.open()
	if err != nil {
		return nil, err
	}
	f, err := ingest(lines, job.Dir, job.Lines, logstore.Options{Codec: job.Codec})
	if err != nil {
		return nil, err
	}
	parts, err := partsOf(job.Dir, job.Lines)
	return codecIngest{*f, parts}, err
}

// rateTime is how long lines are appended at a fixed rate.
const rateTime = 15 * time.Second

// codecRateOf appends batches when they are due.
func codecRateOf(job codecJob) (any, error) {
	lines, err := job.open()
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	s, err := logstore.Open(job.Dir, logstore.Options{Codec: job.Codec})
	if err != nil {
		return nil, err
	}
	every := time.Duration(float64(logChunk) / job.Rate * float64(time.Second))
	batches := min(int64(rateTime/every), job.Lines/logChunk)
	var next atomic.Int64
	took, errs := make([][]time.Duration, barsAppenders), make([]error, barsAppenders)
	begun := time.Now()
	var all sync.WaitGroup
	for i := range barsAppenders {
		all.Go(func() {
			r := lines.reader()
			for {
				n := next.Add(1) - 1
				if n >= batches {
					return
				}
				b, err := r.read(logChunk)
				if err == nil && len(b) == 0 {
					err = errors.New("the file has too few lines")
				}
				if err != nil {
					errs[i] = err
					return
				}
				due := begun.Add(time.Duration(n) * every)
				time.Sleep(time.Until(due))
				if errs[i] = s.Append(context.Background(), b); errs[i] != nil {
					return
				}
				took[i] = append(took[i], time.Since(due))
			}
		})
	}
	all.Wait()
	return timesOf(took...), errors.Join(errors.Join(errs...), s.Close())
}

func codecSystemOf(job codecJob) (any, error) {
	lines, err := job.open()
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	lines.chunks = lines.chunks[:min(int64(len(lines.chunks)-1), barBytesOf/logChunk)+1]
	s, err := lines.system(job.System)
	if err != nil {
		return nil, err
	}
	return s.measure(context.Background(), job.Dir, job.Codec)
}
