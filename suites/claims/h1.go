package claims

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
)

// The variants of H1.
const (
	h1Plain  = "plain rewrite"
	h1Bufio  = "bufio"
	h1Fsync  = "bufio + fsync"
	h1Pooled = "bufio + pool"
)

// h1Grow is how many headers the growing file gets: each takes longer than the one before,
// and 100,000 would take an hour.
const h1Grow = 2_000

// bufioRewrite is the plain rewrite with a bufio.Reader and a bufio.Writer, the subject of
// the claim, and no other difference.
func bufioRewrite(name string, head []byte, r *bufio.Reader, w *bufio.Writer, content *bytes.Buffer, synced bool) (err error) {
	old, err := os.Open(name)
	if err != nil {
		return err
	}
	r.Reset(old)
	content.Reset()
	_, err = content.ReadFrom(r)
	if err = errors.Join(err, old.Close()); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w.Reset(f)
	if _, err := w.Write(head); err != nil {
		return err
	}
	if _, err := w.Write(content.Bytes()); err != nil {
		return err
	}
	if err := w.Flush(); err != nil || !synced {
		return err
	}
	return f.Sync()
}

func bufioFresh(synced bool) func(name string, head []byte) error {
	return func(name string, head []byte) error {
		return bufioRewrite(name, head, bufio.NewReader(nil), bufio.NewWriter(nil), new(bytes.Buffer), synced)
	}
}

func bufioPooled() func(name string, head []byte) error {
	type kit struct {
		r       *bufio.Reader
		w       *bufio.Writer
		content *bytes.Buffer
	}
	pool := sync.Pool{New: func() any {
		return &kit{bufio.NewReader(nil), bufio.NewWriter(nil), new(bytes.Buffer)}
	}}
	return func(name string, head []byte) error {
		k := pool.Get().(*kit)
		defer pool.Put(k)
		return bufioRewrite(name, head, k.r, k.w, k.content, false)
	}
}

// h1Variant writes a header at the head of an empty file, a new one each time, or of one
// file that grows.
func h1Variant(name, doc string, p run.Promise, grow bool, insert func(name string, head []byte) error) lab.Variant {
	return lab.Variant{Name: name, Doc: doc, Promise: p, Run: inDir(func(b *lab.B) error {
		files := b.N
		if grow {
			files = 1
		}
		names := allPaths(files, func(i int) string { return "f" + strconv.Itoa(i) })
		for _, name := range names {
			if err := touch(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY); err != nil {
				return err
			}
		}
		// The names are durable, so that an fsync pays for its own file.
		if err := fileop.Syncfs("."); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		head := headers.Head(headerLen)
		b.SetBytes(headerLen)
		for b.Loop() {
			if err := insert(names[b.I()%files], head); err != nil {
				return err
			}
		}
		return nil
	})}
}

const h1Question = "Does buffering make the rewriting of small files faster, as published?"

// h1Synced is how many files a block with fsync writes: 100,000 would take minutes, and a
// p99 with an interval needs 299.
const h1Synced = 1_000

// h1 has the ways without fsync, h1Fsyncs the one with it.
func h1(grow bool) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "H1-fresh", Question: h1Question,
		Op:  "128 bytes at the head of an empty file, which is rewritten whole",
		Ops: publishedOps, MaxRounds: lab.MinRounds,
		Variants: firstIsBaseline(
			h1Variant(h1Plain, "os.ReadFile, then os.WriteFile of head and content", keptTorn, grow, headers.RewritePlain),
			h1Variant(h1Bufio, "a new bufio.Reader and bufio.Writer for each file", keptTorn, grow, bufioFresh(false)),
			h1Variant(h1Pooled, "the same from a sync.Pool", keptTorn, grow, bufioPooled()),
		),
	}
	if grow {
		e.Name, e.Ops, e.MaxRounds = "H1-grow", h1Grow, 0
		e.Op = h1GrowOp()
	}
	return e
}

func h1GrowOp() string {
	return fmt.Sprintf("128 bytes at the head of one file, which is rewritten whole and has %d headers at the end", h1Grow)
}

func h1Fsyncs(grow bool) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "H1-fresh-fsync", Question: h1Question,
		Op:  "128 bytes at the head of an empty file, which is rewritten whole and synced",
		Ops: h1Synced, MaxRounds: 10,
		Variants: firstIsBaseline(h1Variant(h1Fsync, "bufio.Reader, bufio.Writer and fsync", powerTorn, grow, bufioFresh(true))),
	}
	if grow {
		e.Name, e.Ops = "H1-grow-fsync", h1Grow
		e.Op = h1GrowOp() + ", synced each time"
	}
	return e
}

func claimH1() Claim {
	return Claim{
		ID: "H1",
		Source: reportH.source("ch. 1, Core implementations; Results",
			"100,000 headers of 128 B take 12,840 ms unbuffered, 3,160 with bufio, 4,920 with fsync and 2,410 with a pool and bufio."),
		Statement:   "128 bytes at the head, 100,000 times: plain rewrite; bufio; with fsync each; pool+bufio. Each file fresh; and, with fewer rounds, one file that grows",
		Claimed:     "12,840, 3,160, 4,920, 2,410 ms; p99 211, 48, 76, 32 ms; GC 842, 112, 198, 47 ms",
		Promise:     "kill, torn: a crash in the middle leaves a file half rewritten; with fsync power, torn, and compared all the same, because the claim does",
		Experiments: []lab.Experiment{h1(false), h1Fsyncs(false), h1(true), h1Fsyncs(true)},
		Needs:       onDisk,
		judge:       judgeH1,
	}
}

// h1Claimed has the claimed ratios of the plain rewrite to each other way.
var h1Claimed = []struct {
	variant        string
	total, p99, gc float64
}{
	{h1Bufio, 12840. / 3160, 211. / 48, 842. / 112},
	{h1Fsync, 12840. / 4920, 211. / 76, 842. / 198},
	{h1Pooled, 12840. / 2410, 211. / 32, 842. / 47},
}

func h1ID(variant string, grow bool) string {
	if variant == h1Fsync {
		return idOf(h1Fsyncs(grow))
	}
	return idOf(h1(grow))
}

// judgeH1 compares the ratios to the plain rewrite with the claimed ones: of the time in
// both workloads, of p99 and the collector's pauses for fresh files.
func judgeH1(ev *evidence) judgement {
	fresh, answers := ev.h1Times("Fresh files", false)
	grows, more := ev.h1Times("One that grows", true)
	tails, most := ev.h1Tails()
	why := fmt.Sprintf("Each way had to be as many times better than the plain rewrite as claimed, less %.0f %%, in time, p99 and pauses. The way with fsync promises more than the others, and ran with fewer files in blocks of its own: its intervals are the widest that both allow.",
		100*slack) + ev.fewerOps(h1ID(h1Plain, false), h1Plain)
	return decide(fresh+grows+tails, why, "the figure, and on whether the file grows", slices.Concat(answers, more, most)...)
}

// h1Times compares the times of one workload.
func (ev *evidence) h1Times(what string, grow bool) (text string, answers []answer) {
	plain := ev.time(h1ID(h1Plain, grow), h1Plain)
	text = fmt.Sprintf("%s: plain %s", what, nanos(plain))
	for _, c := range h1Claimed {
		id := h1ID(c.variant, grow)
		t := ev.time(id, c.variant)
		s := quotient(plain, t)
		if c.variant != h1Fsync { // of the same promise, and so paired
			s = ev.speedup(id, c.variant)
		}
		answers = append(answers, claimedFactor(s, c.total))
		text += fmt.Sprintf(", %s %s (%s as fast, claimed %.1fx)", c.variant, nanos(t), factor(s), c.total)
	}
	return text + ". ", answers
}

// h1Tails compares p99 and pauses for fresh files.
func (ev *evidence) h1Tails() (text string, answers []answer) {
	pauses := func(v string) run.Estimate { // of 100,000 operations
		id := h1ID(v, false)
		return scaled(ev.metric(id, v, "gc_pause_ns"), publishedOps/float64(max(1, ev.ops(id, v))))
	}
	tail := func(v string) run.Estimate {
		e, why := ev.tail(h1ID(v, false), v)
		if why != "" {
			ev.miss("p99 of %q: %s", v, why)
		}
		return e
	}
	plainTail, plainGC := tail(h1Plain), pauses(h1Plain)
	text = fmt.Sprintf("Fresh files: plain p99 %s and %.1f ms in pauses of the collector for 100,000", nanos(plainTail), plainGC.Median/1e6)
	for _, c := range h1Claimed {
		p99 := tail(c.variant)
		shorter := quotient(plainTail, p99)
		answers = append(answers, claimedFactor(shorter, c.p99))
		gc, ops := pauses(c.variant), ev.ops(h1ID(c.variant, false), c.variant)
		text += fmt.Sprintf("; %s %s (%s as short, claimed %.1fx) and", c.variant, nanos(p99), factor(shorter), c.p99)
		if gc.Hi == 0 && ops > 0 && ops < publishedOps {
			text += fmt.Sprintf(" no collection in as few as %d, which decides nothing", ops)
			continue
		}
		answers = append(answers, claimedFactor(quotient(plainGC, gc), c.gc))
		text += fmt.Sprintf(" %.1f ms", gc.Median/1e6)
	}
	return text + ".", answers
}
