package claims

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of L11.
const (
	l11Reader = "reader of 4 KiB"
	l11First  = "first piece of 100 MiB"
	l11Pieces = "all pieces of 100 MiB"
	l11Large  = "Scanner with a buffer of 1 MiB"
)

// The published log of L11 and its pieces. Smaller logs have as many pieces.
const (
	l11File    = 1_200_000_000
	l11Quarter = l11File / 4
	l11Tenth   = l11File / 10
	l11Piece   = 100 * datafile.MiB
)

// An l11Log is a log of L11.
type l11Log struct {
	name, cond string
	bytes      int64
	cold       bool // none of it is in the page cache
	text       int  // bytes of a line's message, or up to twice as many
}

const (
	l11Short = 40   // lines of about 110 bytes
	l11Long  = 1200 // of 1.2 to 2.5 KB: a reader of 4 KiB takes no line that does not fit
)

// l11Logs has the large one last: within a budget it may have fewer rounds than the others.
var (
	l11Published = l11Log{"L11-warm", "warm", l11File, false, l11Short}
	l11Logs      = []l11Log{
		{"L11-long", "warm, lines of 1.2 to 2.5 KB", l11Tenth, false, l11Long},
		{"L11-cold", "cold", l11Quarter, true, l11Short},
		l11Published,
	}
)

// logLines returns a function that fills a piece with lines of a log, whose messages have so
// many bytes or up to twice as many. The last line ends with the piece.
func logLines(text int) func(p []byte) {
	rng := rand.New(rand.NewPCG(1, 11))
	levels := [...]string{"debug", "info", "warn", "error"}
	var line []byte
	at := int64(1_700_000_000_000)
	return func(p []byte) {
		for len(p) > 0 {
			at += rng.Int64N(10)
			line = fmt.Appendf(line[:0], "ts=%d level=%s id=%08x msg=%q", at, levels[rng.IntN(len(levels))], rng.Uint32(), headers.Head(text+rng.IntN(text)))
			n := copy(p, append(line, '\n'))
			if len(p)-n < 256 { // this line gets the rest
				for i := n - 1; i < len(p); i++ {
					p[i] = 'x'
				}
				n = len(p)
			}
			p[n-1] = '\n'
			p = p[n:]
		}
	}
}

// A logCount has the results of parsing.
type logCount struct {
	lines, errors int64
	bytes         int64 // of the lines, with their ends
	last          uint64
}

var levelError = []byte(" level=error ")

// add parses a line without its end: its time, and whether it is an error.
func (c *logCount) add(line []byte) {
	c.lines++
	c.bytes += int64(len(line)) + 1
	var ts uint64
	for _, d := range line[min(len("ts="), len(line)):] {
		if d < '0' || d > '9' {
			break
		}
		ts = ts*10 + uint64(d-'0')
	}
	c.last = max(c.last, ts)
	if bytes.Contains(line, levelError) {
		c.errors++
	}
}

func parseByReader(f *os.File, _ int64) (c logCount, err error) {
	r := bufio.NewReaderSize(f, 4<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return c, nil
		}
		if err != nil {
			return c, err
		}
		c.add(line[:len(line)-1])
	}
}

// parsePiece scans a piece and returns how many of its bytes are in whole lines.
func (c *logCount) parsePiece(piece []byte) (whole int, err error) {
	whole = bytes.LastIndexByte(piece, '\n') + 1
	sc := bufio.NewScanner(bytes.NewReader(piece[:whole]))
	for sc.Scan() {
		c.add(sc.Bytes())
	}
	return whole, sc.Err()
}

// parseFirst is B as coded: it reads one piece and stops.
func parseFirst(f *os.File, size int64) (c logCount, err error) {
	piece := make([]byte, size)
	n, err := io.ReadFull(f, piece)
	if err != nil && err != io.ErrUnexpectedEOF {
		return c, err
	}
	_, err = c.parsePiece(piece[:n])
	return c, err
}

// parsePieces is B as meant: the rest of an incomplete line goes to the next piece.
func parsePieces(f *os.File, size int64) (c logCount, err error) {
	piece, kept := make([]byte, size), 0
	for {
		n, err := io.ReadFull(f, piece[kept:])
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return c, err
		}
		end := err != nil
		whole, err := c.parsePiece(piece[:kept+n])
		if err != nil || end {
			return c, err
		}
		kept = copy(piece, piece[whole:kept+n])
	}
}

// parseByLargeScanner reads the file through one Scanner.
func parseByLargeScanner(f *os.File, _ int64) (c logCount, err error) {
	sc := bufio.NewScanner(f)
	sc.Buffer(make([]byte, datafile.MiB), datafile.MiB)
	for sc.Scan() {
		c.add(sc.Bytes())
	}
	return c, sc.Err()
}

// l11 parses a log once.
func l11(s job.Scale, log l11Log) lab.Experiment {
	variant := func(name, doc string, parse func(f *os.File, piece int64) (logCount, error)) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			f, err := datafile.Open(b, fmt.Sprintf("log-%d", log.text), s.Of(log.bytes), logLines(log.text))
			if err != nil {
				return err
			}
			defer f.Close() // nothing is written
			if log.cold {
				err = f.Chill()
			} else {
				err = f.Warm()
			}
			if err != nil {
				return err
			}
			var c logCount
			for b.Loop() {
				if _, err = f.Seek(0, io.SeekStart); err == nil {
					c, err = parse(f.File, max(datafile.MiB, f.Size*l11Piece/l11File))
				}
				if err != nil {
					return err
				}
			}
			if c.errors == 0 || c.last == 0 {
				return fmt.Errorf("parse the log: %d errors, last time %d; want more than 0", c.errors, c.last)
			}
			b.Report("parsed_share", float64(c.bytes)/float64(f.Size))
			return nil
		}}
	}
	op := "a whole log parsed line by line, from the page cache"
	switch {
	case log.cold:
		op = "a whole log of 300 MB parsed line by line, from the disk"
	case log.text == l11Long:
		op = "a whole log of 120 MB with lines of 1.2 to 2.5 KB parsed line by line, from the page cache"
	}
	return lab.Experiment{
		Suite: "claims", Name: log.name, Question: "Is a log parsed faster in large pieces?",
		Op: op, Ops: 1, MaxRounds: lab.MinRounds,
		Variants: firstIsBaseline(
			variant(l11Reader, "A: bufio.Reader of 4 KiB, line by line", parseByReader),
			variant(l11First, "B as coded: the first 100 MiB and a bufio.Scanner on them", parseFirst),
			variant(l11Pieces, "B as meant: the same for all of the log", parsePieces),
			variant(l11Large, "one Scanner on the whole file, with a buffer of 1 MiB", parseByLargeScanner)),
	}
}

func claimL11(s job.Scale) Claim {
	return Claim{
		ID: "L11",
		Source: reportL.source("ch. 5, A real failure",
			"Reading a log of 1.2 GB with io.LimitReader and bufio.Scanner in pieces takes 410 ms, with a bufio.Reader of 4,096 bytes 8.2 s and 37 times the system calls."),
		Statement:   "a 1.2 GB log parsed with a 4 KiB reader (A), in pieces of 100 MiB with a scanner (B; as coded it reads only the first piece)",
		Claimed:     "8.2 s to 410 ms",
		Promise:     noneText,
		Experiments: experiments(func(log l11Log) lab.Experiment { return l11(s, log) }, l11Logs...),
		judge:       func(ev *evidence) judgement { return judgeL11(ev, s) },
	}
}

// judgeL11 asks about B as meant. As coded it leaves most of the log out, and is shown.
func judgeL11(ev *evidence, s job.Scale) judgement {
	const faster, fewer = 8200. / 410, 37
	var parts []part
	for _, log := range l11Logs {
		id := idOf(l11(s, log))
		for _, b := range []struct{ how, name string }{{"as coded", l11First}, {"as meant", l11Pieces}} {
			condition := b.how + ", " + log.cond
			share := ev.metric(id, b.name, "parsed_share").Median
			finish := func(p part) part {
				if p = p.under(condition); share < 1 {
					p = p.wrong(fmt.Sprintf("%.0f %% of the log is read", 100*share))
				}
				if b.name == l11First {
					p = p.onlyShown()
				}
				return p
			}
			parts = append(parts, finish(claimed("time, A against B", ev.speedup(id, b.name), faster)), finish(ev.l11Reads(id, b.name, fewer)))
		}
		if peak, why := ev.known(id, l11Pieces, "peak_rss_bytes"); why == "" {
			parts = append(parts, figureOf("peak memory as meant, "+log.cond, units.Decimal(peak.Median)))
		}
		large := ev.speedup(id, l11Large)
		if !math.IsNaN(large.Median) {
			parts = append(parts, figureOf("Scanner with a buffer of 1 MiB on the file, "+log.cond, factor(large)+" as fast as A"))
		}
	}
	return ruling("B as coded reads one piece and drops the rest: it decides nothing. The log on the disk has a quarter of the size and that of long lines a tenth, in as many pieces."+
		ev.smaller(idOf(l11(s, l11Published)), l11Reader, s.Of(l11File)), parts...)
}

// l11Reads returns the part that asks how many times as many reads A makes as B.
func (ev *evidence) l11Reads(id, name string, fewer float64) part {
	const what = "reads, A against B"
	a, b := ev.calls(id, l11Reader, "read", "pread64"), ev.calls(id, name, "read", "pread64")
	if !(b > 0) {
		return lacking(what, "").untestable()
	}
	return fact(what, a/b >= fewer*(1-slack), fmt.Sprintf("%.0f and %.0f, %.1fx (claimed %.0fx)", a, b, a/b, fewer))
}
