package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/logstore"
)

// inspectStore prints the store in dir. The error is the damage, or that of
// reading or printing.
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
	for _, d := range in.Deletions {
		if err := p.deletion(d); err != nil {
			return err
		}
	}
	for _, q := range in.Quarantined {
		if err := p.quarantined(q); err != nil {
			return err
		}
	}
	for _, s := range in.Segments {
		if err := inspectParts(ctx, s, o, p); err != nil {
			return err
		}
	}
	m, err := newMeter("auto", stderr)
	if err != nil {
		return err
	}
	v, damage := logstore.Verify(ctx, dir, showVerify(m, total))
	m.end()
	if v == nil {
		return damage
	}
	return errors.Join(printVerdict(p, v), damage)
}

// inspectSegment prints one segment.
func inspectSegment(ctx context.Context, file string, o inspectOptions, p inspectPrinter, stderr io.Writer) error {
	s, err := logstore.InspectSegment(file)
	if err != nil {
		return err
	}
	err = p.sealed(s.SegmentInfo)
	s.Close()
	if err == nil {
		err = inspectParts(ctx, s.SegmentInfo, o, p)
	}
	if err != nil {
		return err
	}
	m, err := newMeter("auto", stderr)
	if err != nil {
		return err
	}
	one, err := logstore.VerifySegment(ctx, file, showVerify(m, s.Size))
	m.end()
	if err != nil {
		return err
	}
	v := &logstore.Verification{Segments: []logstore.SegmentVerdict{one}}
	return errors.Join(printVerdict(p, v), one.Err())
}

// inspectParts prints the sections, streams and blocks of a segment, up to the first that
// cannot be read: the verdict has the damage. If the index is damaged, it first
// prints the parts that cannot be read.
func inspectParts(ctx context.Context, info logstore.SegmentInfo, o inspectOptions, p inspectPrinter) error {
	if !o.streams && !o.blocks && !o.sections && !o.templates && info.Err == nil {
		return nil
	}
	s, err := logstore.InspectSegment(info.File)
	if err != nil {
		return nil
	}
	defer s.Close()
	for _, l := range s.Lost {
		if err := p.lost(l); err != nil {
			return err
		}
	}
	if o.sections {
		if err := inspectSections(s, p); err != nil {
			return err
		}
	}
	if o.templates {
		if err := inspectTemplates(s, p); err != nil {
			return err
		}
	}
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

// inspectSections prints the sections of a segment and its tenants.
func inspectSections(s *logstore.SegmentInspection, p inspectPrinter) error {
	if list := s.Sections(); len(list) > 0 {
		if err := p.sections(s.SegmentInfo, list); err != nil {
			return err
		}
	}
	tenants, err := s.Tenants()
	if err != nil {
		return nil // the verdict has the damage
	}
	for _, t := range tenants {
		if err := p.tenant(t); err != nil {
			return err
		}
	}
	return nil
}

// inspectTemplates prints what the parts of a segment take, its templates, and its
// columns. What is damaged is left out.
func inspectTemplates(s *logstore.SegmentInspection, p inspectPrinter) error {
	costs, err1 := s.Costs()
	templates, err2 := s.Templates()
	columns, err3 := s.Columns()
	for _, c := range costs {
		if err := p.cost(c, s.SegmentInfo); err != nil {
			return err
		}
	}
	for _, t := range templates {
		if err := p.template(t); err != nil {
			return err
		}
	}
	for _, c := range columns {
		if err := p.column(c); err != nil {
			return err
		}
	}
	for _, err := range []error{err1, err2, err3} {
		// The verdict has the damage.
		if _, damaged := errors.AsType[*logstore.CorruptError](err); err != nil && !damaged {
			return err
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
	for _, m := range v.Missing {
		if err := p.lost(m); err != nil {
			return err
		}
	}
	for _, o := range v.OtherLog {
		if err := p.other(o); err != nil {
			return err
		}
	}
	if v.LogErr != nil {
		if err := p.damage(v.LogErr); err != nil {
			return err
		}
	}
	return p.storeVerdict(v)
}

// showVerify returns a function that shows on m how much of total bytes is
// verified. Short work shows nothing.
func showVerify(m *meter, total int64) func(logstore.VerifyProgress) {
	m.last = time.Now()
	return func(p logstore.VerifyProgress) {
		m.show(false, p, func() string {
			return fmt.Sprintf("verified %d of %d MiB: %s", p.Done>>20, total>>20, filepath.Base(p.File))
		})
	}
}
