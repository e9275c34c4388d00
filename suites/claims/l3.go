package claims

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
)

// lineSchedule is the pace of L3: 50 lines every 5 ms are the published 10,000 a second. An
// operation is a second, so that --block-time 60s runs the published minute.
var lineSchedule = schedule{tick: 5 * time.Millisecond, perTick: 50, ticks: 200, one: "line", many: "lines"}

const l3Buffer = 4 << 10

// An l3Logger formats a line in a buffer and writes it with one write(2).
type l3Logger struct {
	f    *os.File
	get  func() *bytes.Buffer
	put  func(*bytes.Buffer)
	line []byte
	n    int64
}

func (l *l3Logger) log() error {
	buf := l.get()
	buf.Reset()
	buf.WriteString("level=info ts=")
	buf.Write(strconv.AppendInt(buf.AvailableBuffer(), time.Now().UnixNano(), 10))
	buf.WriteString(" n=")
	l.n++
	buf.Write(strconv.AppendInt(buf.AvailableBuffer(), l.n, 10))
	buf.WriteString(" msg=")
	buf.Write(l.line)
	buf.WriteByte('\n')
	_, err := l.f.Write(buf.Bytes())
	l.put(buf)
	return err
}

// l3 logs at the published pace, or as fast as it can.
func l3(paced bool) lab.Experiment {
	each := func(b *lab.B, l *l3Logger) error {
		for b.Loop() {
			if err := l.log(); err != nil {
				return err
			}
		}
		return nil
	}
	e := lab.Experiment{
		Suite: "claims", Name: "L3-free", Question: "What do pooled log buffers gain?",
		Op: "one log line, formatted in a buffer of 4 KiB and written to the file", MaxOps: publishedOps,
	}
	if paced {
		e.Name = "L3-paced"
		e.Op = "a second in which 10,000 log lines are formatted, each in a buffer of 4 KiB, and written to the file"
		e.MaxOps, e.MaxRounds = 60, 8
		each = func(b *lab.B, l *l3Logger) error { _, err := lineSchedule.run(b, l.log, nil); return err }
	}
	variant := func(name, doc string, get func() *bytes.Buffer, put func(*bytes.Buffer)) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: keptTorn, Run: inDir(func(b *lab.B) error {
			f, err := os.Create("log")
			if err != nil {
				return err
			}
			l := &l3Logger{f: f, get: get, put: put, line: headers.Head(headerLen)}
			return errors.Join(each(b, l), f.Close())
		})}
	}
	newBuffer := func() *bytes.Buffer { return bytes.NewBuffer(make([]byte, 0, l3Buffer)) }
	pool := &sync.Pool{New: func() any { return newBuffer() }}
	e.Variants = firstIsBaseline(
		variant(madeFresh, "A: a new bytes.Buffer for each line", newBuffer, func(*bytes.Buffer) {}),
		variant(fromPool, "B: from a sync.Pool",
			func() *bytes.Buffer { return pool.Get().(*bytes.Buffer) }, func(buf *bytes.Buffer) { pool.Put(buf) }))
	return e
}

func claimL3() Claim {
	free, paced := l3(false), l3(true)
	return Claim{
		ID: "L3",
		Source: reportL.source("2.4",
			"Pooled log buffers raise 9,140 requests/s to 14,630 and lower the mean from 4.2 to 1.8 ms and collections from 182 to 23 a minute."),
		Statement:   "log buffers fresh (A), pooled (B), 10,000 a second for 60 s",
		Claimed:     "4.2 to 1.8 ms; 182 to 23 collections a minute; 9,140 to 14,630/s",
		Promise:     "kill, torn, all variants: a line survives kill -9, not a power cut",
		Experiments: []lab.Experiment{paced, free},
		judge:       func(ev *evidence) judgement { return judgeL3(ev, paced.ID(), free.ID()) },
	}
}

func judgeL3(ev *evidence, paced, free string) judgement {
	const latency, collections, rate = 4.2 / 1.8, 182. / 23, 14630. / 9140
	figure := func(metric, v string) run.Estimate { return ev.metric(paced, v, metric) }
	minute := func(v string) run.Estimate {
		seen := figure("gc_count", v)
		seen.Hi++ // the next one may have been due
		return scaled(seen, 60/float64(max(1, ev.ops(paced, v))))
	}
	quicker := quotient(figure("line_mean_ns", madeFresh), figure("line_mean_ns", fromPool))
	quickerCall := quotient(figure("call_mean_ns", madeFresh), figure("call_mean_ns", fromPool))
	fewer := quotient(minute(madeFresh), minute(fromPool))
	faster := ev.speedup(free, fromPool)
	text := "At 10,000 a second:"
	for _, v := range []struct{ what, name string }{{"A", madeFresh}, {"B", fromPool}} {
		text += fmt.Sprintf(" %s %s a line from its call (p99 %s) and %s from when it was due, %.0f collections a minute, %.0f lines/s;", v.what,
			nanos(figure("call_mean_ns", v.name)), nanos(figure("call_p99_ns", v.name)), nanos(figure("line_mean_ns", v.name)),
			minute(v.name).Median, figure("lines_per_second", v.name).Median)
	}
	text += fmt.Sprintf(" B is %s and %s as quick. As fast as it goes: A %.0f/s, B %.0f/s, %s as fast.",
		factor(quickerCall), factor(quicker), 1e9/ev.time(free, madeFresh).Median, 1e9/ev.time(free, fromPool).Median, factor(faster))
	why := fmt.Sprintf("B had to reach the claimed %.2fx in latency, counted in both ways, %.1fx fewer collections and %.2fx the rate, each less %.0f %%. The claimed rates cannot be at 10,000 a second, since 14,630 is more: the rate is that without a pace. Collections are scaled to a minute from blocks of %d s (--block-time 60s runs the whole minute).",
		latency, collections, rate, 100*slack, max(1, ev.ops(paced, madeFresh)))
	return decide(text, why, "latency, collections or rate",
		claimedFactor(quicker, latency), claimedFactor(quickerCall, latency), claimedFactor(fewer, collections), claimedFactor(faster, rate))
}
