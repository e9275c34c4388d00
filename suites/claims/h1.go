package claims

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/stele-go/stele/durability"
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

// h1Grow is how many headers the file that grows gets: the time of one grows
// with their number, so that 100,000 would take an hour.
const h1Grow = 2_000

// bufioRewrite is the plain rewrite, with a bufio.Reader and a bufio.Writer in
// between and no other difference, since the claim is about them.
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

// h1Variant puts a header into files that are empty, one an operation, or into
// one file that grows.
func h1Variant(name, doc string, p durability.Promise, grow bool, insert func(name string, head []byte) error) lab.Variant {
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

// h1Synced is how many files a block with fsync writes: 100,000 would take
// minutes, and of fewer than 299 there is no p99 with an interval.
const h1Synced = 1_000

// h1 is the ways without fsync, and h1Fsyncs the one with it.
func h1(grow bool) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "H1-fresh", Question: h1Question,
		Op:  "128 bytes at the head of an empty file, which is rewritten whole",
		Ops: publishedOps, MaxRounds: lab.MinRounds,
		Variants: []lab.Variant{
			h1Variant(h1Plain, "os.ReadFile, then os.WriteFile of head and content", keptTorn, grow, headers.RewritePlain),
			h1Variant(h1Bufio, "bufio.Reader and bufio.Writer made for each file", keptTorn, grow, bufioFresh(false)),
			h1Variant(h1Pooled, "the same from a sync.Pool", keptTorn, grow, bufioPooled()),
		},
	}
	if grow {
		e.Name, e.Ops, e.MaxRounds = "H1-grow", h1Grow, 0
		e.Op = h1GrowOp()
	}
	e.Variants[0].Baseline = true
	return e
}

func h1GrowOp() string {
	return fmt.Sprintf("128 bytes at the head of one file, which is rewritten whole and has %d headers in the end", h1Grow)
}

func h1Fsyncs(grow bool) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "H1-fresh-fsync", Question: h1Question,
		Op:  "128 bytes at the head of an empty file, which is rewritten whole and synced",
		Ops: h1Synced, MaxRounds: 10,
		Variants: []lab.Variant{h1Variant(h1Fsync, "bufio.Reader, bufio.Writer and fsync", powerTorn, grow, bufioFresh(true))},
	}
	if grow {
		e.Name, e.Ops = "H1-grow-fsync", h1Grow
		e.Op = h1GrowOp() + ", synced each time"
	}
	e.Variants[0].Baseline = true
	return e
}

func claimH1() Claim {
	c := Claim{
		ID: "H1",
		Source: reportH.source("ch. 1, Core implementations; Results",
			"100,000 headers of 128 B take 12,840 ms unbuffered, 3,160 with bufio, 4,920 with fsync and 2,410 with a pool and bufio."),
		Statement: "128 bytes at the head, 100,000 times: plain rewrite; bufio; with fsync each; pool+bufio. Each file fresh; and, with fewer rounds, one file that grows",
		Claimed:   "12,840, 3,160, 4,920, 2,410 ms; p99 211, 48, 76, 32 ms; GC 842, 112, 198, 47 ms",
		Promise:   "kill, torn: a crash in the middle leaves a file half rewritten; with fsync power, torn, and compared all the same, because the claim does",
		Needs:     onDisk,
		judge:     judgeH1,
	}
	for _, grow := range []bool{false, true} {
		c.Experiments = append(c.Experiments, h1(grow), h1Fsyncs(grow))
	}
	return c
}

// judgeH1 asks for the claimed ratios to the plain rewrite: of the time in
// both workloads, of p99 and the collector's pauses where the files are fresh.
func judgeH1(ev *evidence) judgement {
	claims := []struct {
		variant        string
		total, p99, gc float64
	}{
		{h1Bufio, 12840. / 3160, 211. / 48, 842. / 112},
		{h1Fsync, 12840. / 4920, 211. / 76, 842. / 198},
		{h1Pooled, 12840. / 2410, 211. / 32, 842. / 47},
	}
	var text strings.Builder
	var answers []answer
	id := func(variant string, grow bool) string {
		e := h1(grow)
		if variant == h1Fsync {
			e = h1Fsyncs(grow)
		}
		return e.ID()
	}
	for _, grow := range []bool{false, true} {
		plain := ev.time(id(h1Plain, grow), h1Plain)
		fmt.Fprintf(&text, "%s: plain %s", map[bool]string{false: "Fresh files", true: "One that grows"}[grow], nanos(plain))
		for _, c := range claims {
			t := ev.time(id(c.variant, grow), c.variant)
			s := quotient(plain, t)
			if c.variant != h1Fsync { // of one promise, and so paired
				s = ev.speedup(id(c.variant, grow), c.variant)
			}
			answers = append(answers, claimedFactor(s, c.total))
			fmt.Fprintf(&text, ", %s %s (%s as fast, claimed %.1fx)", c.variant, nanos(t), factor(s), c.total)
		}
		text.WriteString(". ")
	}
	pauses := func(v string) run.Estimate { // of 100,000 operations
		ops := opsOf(ev.results[id(v, false)])
		return scaled(ev.metric(id(v, false), v, "gc_pause_ns"), publishedOps/float64(max(1, ops)))
	}
	tail := func(v string) run.Estimate { // of fresh files
		e, why := ev.tail(id(v, false), v)
		if why != "" {
			ev.miss("p99 of %q: %s", v, why)
		}
		return e
	}
	plainTail, plainGC := tail(h1Plain), pauses(h1Plain)
	fmt.Fprintf(&text, "Of fresh files plain p99 %s and %.1f ms in pauses of the collector for 100,000", nanos(plainTail), plainGC.Median/1e6)
	for _, c := range claims {
		p99 := tail(c.variant)
		shorter := quotient(plainTail, p99)
		answers = append(answers, claimedFactor(shorter, c.p99))
		gc, ops := pauses(c.variant), opsOf(ev.results[id(c.variant, false)])
		fmt.Fprintf(&text, "; %s %s (%s as short, claimed %.1fx) and", c.variant, nanos(p99), factor(shorter), c.p99)
		if gc.Hi == 0 && ops > 0 && ops < publishedOps {
			fmt.Fprintf(&text, " no collection in as few as %d, which says nothing", ops)
			continue
		}
		answers = append(answers, claimedFactor(quotient(plainGC, gc), c.gc))
		fmt.Fprintf(&text, " %.1f ms", gc.Median/1e6)
	}
	text.WriteString(".")
	why := fmt.Sprintf("Each was asked to be as many times better than the plain rewrite as claimed, less %.0f %%, in time, p99 and pauses. With fsync it promises more than the others, and was run with fewer files, in blocks of its own: its intervals are the widest that both allow.",
		100*slack) + perBlock(ev, id(h1Plain, false), publishedOps)
	verdict, why := decide(why, "which of the figures is asked for, and whether the file grows", answers...)
	return judgement{text.String(), verdict, why}
}
