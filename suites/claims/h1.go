package claims

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
)

// The variants of H1.
const (
	h1Plain       = "A: plain rewrite"
	h1Bufio       = "B: bufio"
	h1Fsync       = "C: bufio + fsync"
	h1Pooled      = "D: pooled buffer and bufio"
	h1BufioCoded  = "B as coded"
	h1FsyncCoded  = "C as coded"
	h1PooledCoded = "D as coded"
)

const (
	// h1Fresh is how many fresh files a block writes; the published 100,000 would take
	// minutes a block.
	h1Fresh = 2_000
	// h1Grow is how many headers the growing file gets: each takes longer than the one before.
	h1Grow = 1_000
	// h1Synced is how many headers a block with fsync writes. A p99 with an interval needs
	// 299.
	h1Synced = 1_000
)

// h1Right is 1 where a file is, after a header was put before its content, what it should
// be, else 0.
const h1Right = "content_right"

// h1Variant writes a header at the head of an empty file, a new one each time, or of one
// file that grows.
func h1Variant(name, doc string, p run.Promise, grow bool, insert func(name string, head []byte) error) lab.Variant {
	return lab.Variant{Name: name, Doc: doc, Promise: p, Run: inDir(func(b *lab.B) error {
		if err := reportH1Right(b, grow, insert); err != nil {
			return err
		}
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

// reportH1Right tries the way on a file: an empty one or, where the file grows, one with two
// headers.
func reportH1Right(b *lab.B, grow bool, insert func(name string, head []byte) error) error {
	const name = "content"
	var old []byte
	if grow {
		old = bytes.Repeat([]byte{'o'}, 2*headerLen)
	}
	head := headers.Head(headerLen)
	if err := os.WriteFile(name, old, 0o644); err != nil {
		return err
	}
	if err := insert(name, head); err != nil {
		return err
	}
	got, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	right := bytes.Equal(got, slices.Concat(head, old))
	b.Report(h1Right, map[bool]float64{true: 1}[right])
	return os.Remove(name)
}

const h1Question = "Does buffering make the rewriting of small files faster, as published?"

func h1Op(grow bool, ops int, synced string) string {
	if grow {
		return fmt.Sprintf("128 bytes at the head of one file, which is rewritten whole%s and has %d headers at the end", synced, ops)
	}
	return "128 bytes at the head of an empty file, which is rewritten whole" + synced
}

// h1 has the ways without fsync, h1Fsyncs those with it beside the plain rewrite.
func h1(grow bool) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "H1-fresh", Question: h1Question, Op: h1Op(grow, h1Grow, ""), Ops: h1Fresh, MaxRounds: lab.MinRounds,
		Variants: firstIsBaseline(
			h1Variant(h1Plain, "os.ReadFile, then os.WriteFile of head and content", keptTorn, grow, headers.RewritePlain),
			h1Variant(h1Bufio, "as meant: a new bufio.Reader and bufio.Writer for each file", keptTorn, grow, bufioFresh(false)),
			h1Variant(h1Pooled, "as meant: the same from a sync.Pool", keptTorn, grow, bufioPooled()),
			h1Variant(h1BufioCoded, "header and old content through bufio, Flush, then Truncate to w.Size(), which is the buffer's size: each file ends with 4,096 bytes, cut or filled with zeros", keptTorn, grow, bufioCoded),
			h1Variant(h1PooledCoded, "header and old content appended in a pooled []byte of 512 bytes, one Write, no bufio", keptTorn, grow, pooledCoded())),
	}
	if grow {
		e.Name, e.Ops, e.MaxRounds = "H1-grow", h1Grow, 8
	}
	return e
}

func h1Fsyncs(grow bool) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: "H1-fresh-fsync", Question: h1Question, Op: h1Op(grow, h1Synced, ", with fsync or without"), Ops: h1Synced, MaxRounds: 8,
		Variants: firstIsBaseline(
			h1Variant(h1Plain, "os.ReadFile, then os.WriteFile of head and content, no fsync", keptTorn, grow, headers.RewritePlain),
			h1Variant(h1Fsync, "as meant: a new bufio.Reader and bufio.Writer for each file, and fsync", powerTorn, grow, bufioFresh(true)),
			h1Variant(h1FsyncCoded, "the header alone, over the first 128 bytes, and fsync; no bufio, and the old content loses its head", powerTorn, grow, fsyncCoded)),
	}
	if grow {
		e.Name = "H1-grow-fsync"
	}
	return e
}

func claimH1() Claim {
	return Claim{
		ID: "H1",
		Source: reportH.source("ch. 1, Core implementations; Results",
			"100,000 headers of 128 B take 12,840 ms unbuffered, 3,160 with bufio, 4,920 with fsync and 2,410 with a pool and bufio."),
		Statement:   "128 bytes at the head, 100,000 times: plain rewrite (A); bufio (B); bufio and fsync each (C); pooled buffer and bufio (D), as coded and as meant. Each file fresh; and, with fewer rounds, one file that grows",
		Claimed:     "12,840, 3,160, 4,920, 2,410 ms; p99 211, 48, 76, 32 ms; GC 842, 112, 198, 47 ms",
		Promise:     "kill, torn: a crash in the middle leaves a file half rewritten; with fsync power, torn, and compared all the same, because the claim does",
		Experiments: []lab.Experiment{h1(false), h1Fsyncs(false), h1(true), h1Fsyncs(true)},
		Needs:       onDisk,
		judge:       judgeH1,
	}
}

// h1Claimed has the claimed ratios of the plain rewrite to each other way.
var h1Claimed = []struct {
	way          string
	meant, coded string
	total, p99   float64
	synced       bool
}{
	{"B, bufio", h1Bufio, h1BufioCoded, 12840. / 3160, 211. / 48, false},
	{"C, bufio and fsync", h1Fsync, h1FsyncCoded, 12840. / 4920, 211. / 76, true},
	{"D, pool and bufio", h1Pooled, h1PooledCoded, 12840. / 2410, 211. / 32, false},
}

// judgeH1 compares each way with the plain rewrite, as coded and as meant, of fresh files
// and of one that grows. What survives a power cut is a matter of the promises, not of times.
func judgeH1(ev *evidence) judgement {
	var parts []part
	for _, c := range h1Claimed {
		for _, grow := range []bool{false, true} {
			id, files := idOf(h1(grow)), map[bool]string{false: "fresh files", true: "a file that grows"}[grow]
			if c.synced {
				id = idOf(h1Fsyncs(grow))
			}
			for _, w := range []struct{ variant, how string }{{c.coded, "as coded"}, {c.meant, "as meant"}} {
				for _, p := range ev.h1Parts(id, c.way, w.variant, c.total, c.p99) {
					if right := ev.metric(id, w.variant, h1Right); right.Median == 0 {
						p = p.wrong("the file is not head and old content")
					}
					if c.synced {
						p = p.note(notSameJob)
					}
					parts = append(parts, p.under(w.how+", "+files))
				}
			}
		}
	}
	return ruling("Only C survives a power cut, and only where its content is right. A p99 of 211 ms cannot be that of single writes: 1,000 of 100,000 would take longer than all did; its ratios are tested all the same."+
		ev.fewerOps(idOf(h1(false)), h1Plain), parts...)
}

// h1Parts asks about total, p99 and pauses of one way and workload.
func (ev *evidence) h1Parts(id, way, variant string, total, p99 float64) []part {
	tail, why := ev.tailRatio(id, h1Plain, variant)
	shorter := claimed("p99 of A against "+way, tail, p99)
	few := cmp.Or(ev.fewLatencies(id, h1Plain), ev.fewLatencies(id, variant))
	if why != "" && few == "" {
		shorter = lacking(shorter.what, "p99: "+why)
	}
	shorter = shorter.undecided(few)
	a, b := ev.metric(id, h1Plain, "gc_pause_ns"), ev.metric(id, variant, "gc_pause_ns")
	pauses := direction("pauses of the collector of A against "+way, fewerTimes(a, b)).
		note(fmt.Sprintf("%s against %s in %d", lasting(a), lasting(b), ev.ops(id, variant)))
	if a.Hi == 0 && b.Hi == 0 {
		pauses = pauses.undecided(fmt.Sprintf("no collection in %d operations of A and of %s; more operations would have some", ev.ops(id, variant), way))
	}
	return []part{
		claimed("total of A against "+way, ev.ratio(id, h1Plain, variant), total).
			note(fmt.Sprintf("%s against %s", nanos(ev.time(id, h1Plain)), nanos(ev.time(id, variant)))),
		shorter, pauses,
	}
}
