package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/logstore"
)

// inspectStore goes through the store in dir. The error is the damage, or why
// it could not be read or printed.
func inspectStore(ctx context.Context, dir string, o inspectOptions, p inspectPrinter, stderr io.Writer) error {
	in, err := logstore.Inspect(dir)
	if err != nil {
		return err
	}
	if err := p.store(in); err != nil {
		return err
	}
	total := int64(0)
	for _, s := range in.Segments {
		total += s.Size
		if err := errors.Join(p.sealed(s), ctx.Err()); err != nil {
			return err
		}
	}
	for _, q := range in.Quarantined {
		if err := p.quarantined(q); err != nil {
			return err
		}
	}
	if o.streams || o.blocks {
		for _, s := range in.Segments {
			if err := inspectParts(ctx, s.File, o, p); err != nil {
				return err
			}
		}
	}
	m := newVerifyMeter(stderr, total)
	v, damage := logstore.Verify(ctx, dir, m.tell)
	m.end()
	if v == nil {
		return damage
	}
	return errors.Join(printVerdict(p, v), damage)
}

// inspectSegment goes through one segment.
func inspectSegment(ctx context.Context, file string, o inspectOptions, p inspectPrinter, stderr io.Writer) error {
	s, err := logstore.InspectSegment(file)
	if err != nil {
		return err
	}
	err = p.sealed(s.SegmentInfo)
	s.Close()
	if err == nil && (o.streams || o.blocks) {
		err = inspectParts(ctx, file, o, p)
	}
	if err != nil {
		return err
	}
	m := newVerifyMeter(stderr, s.Size)
	one, err := logstore.VerifySegment(ctx, file, m.tell)
	m.end()
	if err != nil {
		return err
	}
	v := &logstore.Verification{Segments: []logstore.SegmentVerdict{one}}
	return errors.Join(printVerdict(p, v), one.Err())
}

// inspectParts lists the streams and blocks of a segment, as far as they can be
// read: the verdict tells the rest.
func inspectParts(ctx context.Context, file string, o inspectOptions, p inspectPrinter) error {
	s, err := logstore.InspectSegment(file)
	if err != nil {
		return nil
	}
	defer s.Close()
	if o.streams {
		for st, err := range s.EachStream() {
			if err != nil {
				break
			}
			if err := errors.Join(p.stream(st), ctx.Err()); err != nil {
				return err
			}
		}
	}
	if o.blocks {
		for b, err := range s.EachBlock() {
			if err != nil {
				break
			}
			if err := errors.Join(p.block(b), ctx.Err()); err != nil {
				return err
			}
		}
	}
	return nil
}

func printVerdict(p inspectPrinter, v *logstore.Verification) error {
	for _, s := range v.Segments {
		for _, d := range s.Damage {
			if err := p.damage(d); err != nil {
				return err
			}
		}
	}
	if v.LogErr != nil {
		if err := p.damage(v.LogErr); err != nil {
			return err
		}
	}
	return p.storeVerdict(v)
}

// A verifyMeter shows on standard error how far a verification is: on a
// terminal ten times a second, elsewhere every ten seconds.
type verifyMeter struct {
	w        io.Writer
	total    int64
	terminal bool
	every    time.Duration
	last     time.Time
}

func newVerifyMeter(stderr io.Writer, total int64) *verifyMeter {
	m := &verifyMeter{w: stderr, total: total, every: 10 * time.Second, last: time.Now()}
	if m.terminal = width(stderr) > 0; m.terminal {
		m.every = 100 * time.Millisecond
	}
	return m
}

func (m *verifyMeter) tell(p logstore.VerifyProgress) {
	if time.Since(m.last) < m.every {
		return
	}
	m.last = time.Now()
	line := fmt.Sprintf("verified %d of %d MiB: %s", p.Done>>20, m.total>>20, filepath.Base(p.File))
	if !m.terminal {
		fmt.Fprintln(m.w, line)
		return
	}
	if n := width(m.w); n > 0 && len(line) >= n {
		line = line[:n-1]
	}
	fmt.Fprintf(m.w, "\r\x1b[K%s", line)
}

func (m *verifyMeter) end() {
	if m.terminal {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}
