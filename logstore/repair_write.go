package logstore

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/wal"
)

// write makes the new log beside the old one. It returns the name that the old one
// will have in quarantine. After an error it removes what it has made.
func (r *repair) write(ctx context.Context) (name string, err error) {
	if err := r.step("mark"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil && !errors.Is(err, errStopped) {
			err = errors.Join(err, os.RemoveAll(r.path(repairDir)))
		}
	}()
	if err := r.makeDir(repairDir); err != nil {
		return "", err
	}
	name = r.newName(quarantinedN)
	if err := r.writeMark(name); err != nil {
		return "", err
	}
	if err := r.writeNote(name); err != nil {
		return "", err
	}
	if err := r.step("create"); err != nil {
		return "", err
	}
	p := r.plan
	if err := wal.Create(r.path(repairDir), wal.CreateOptions{ID: p.id, First: wal.Position(p.First)}); err != nil {
		return "", err
	}
	if p.First < p.Next {
		if err := r.writeRecords(ctx); err != nil {
			return "", err
		}
	}
	rep, err := wal.Verify(r.path(repairDir))
	if err == nil && (uint64(rep.First) != p.First || uint64(rep.Next) != p.Next) {
		err = fmt.Errorf("the new log has positions %d to before %d; want %d to before %d", rep.First, rep.Next, p.First, p.Next)
	}
	return name, err
}

// errStopped is the error of a step at which a test ends a repair.
var errStopped = errors.New("stopped")

// writeRecords writes the records of the new log, and makes them durable.
func (r *repair) writeRecords(ctx context.Context) error {
	p := r.plan
	in, err := wal.Inspect(p.LogDir)
	if err != nil {
		return err
	}
	l, err := wal.Open(r.path(repairDir), wal.Options{Level: durability.None, SegmentSize: newLogSegmentSize(p.largest)})
	if err != nil {
		return err
	}
	w := repairWriter{logWriter: logWriter{log: l, next: p.First}, filler: encodeState(0, stateItem{typ: stateLost})}
	err = w.copy(ctx, in, p)
	if err == nil {
		err = r.step("close")
	}
	return errors.Join(err, l.Close())
}

// A repairWriter writes the records of a new log.
type repairWriter struct {
	logWriter
	filler []byte // stands where a record is lost
	kept   uint64
}

// copy writes the records that the plan keeps, and a filler at each position between
// them.
func (w *repairWriter) copy(ctx context.Context, in *wal.Inspection, p *RepairPlan) error {
	for rec, err := range in.Salvage(wal.Position(p.First)) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || rec.Type != dataRecord {
			continue // the plan has the damage
		}
		if err := w.fill(ctx, uint64(rec.Position)); err != nil {
			return err
		}
		if err := w.add(ctx, rec.Data); err != nil {
			return err
		}
		w.kept++
	}
	if want := p.KeptRecords(); w.kept != want {
		return fmt.Errorf("%d records of the log could be read, of %d just before; nothing was changed", w.kept, want)
	}
	if err := w.fill(ctx, p.Next); err != nil {
		return err
	}
	return w.flush(ctx)
}

// fill writes fillers up to before a position.
func (w *repairWriter) fill(ctx context.Context, upto uint64) error {
	if upto < w.next {
		return fmt.Errorf("the log has position %d behind %d", upto, w.next)
	}
	for w.next < upto {
		if err := w.add(ctx, w.filler); err != nil {
			return err
		}
	}
	return nil
}
