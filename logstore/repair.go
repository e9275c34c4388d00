package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/mkdir"
	"github.com/stele-go/stele/wal"
)

// A repair is made in these steps, each durable before the next begins:
//
//	mark     DIR/wal.repair is made, with the file REPAIR in it: where the old log
//	         will be, and the report
//	write    the new log is written into DIR/wal.repair, closed, and verified, with what the
//	         first Open tells (repair_note.go)
//	publish  DIR/wal.repair and DIR/wal are exchanged, by one call of the kernel
//	report   the report is written to DIR/quarantine/log-TIME.txt
//	move     the old log, DIR/wal.repair now, becomes DIR/quarantine/log-TIME
//	unmark   DIR/wal/REPAIR is removed
//
// A crash before publish leaves the old log, and DIR/wal.repair with REPAIR in it,
// which the next repair removes. One after it leaves the new log, and
// DIR/wal.repair without REPAIR: that is the old log, never removed. As long as DIR/wal
// has REPAIR, the next repair goes on with report. Open takes the log that DIR/wal is.
//
// Where the kernel cannot exchange two names, publish is two renames, of DIR/wal to
// DIR/quarantine/log-TIME, and of DIR/wal.repair to DIR/wal. A crash between them
// leaves no DIR/wal. Open refuses that, and the next repair makes the second.
//
// The lock of the old log is held from before mark to after unmark.
const (
	repairDir    = logDir + ".repair"
	repairMark   = "REPAIR"
	quarantinedN = "log-" // begins the names of old logs in quarantine
)

// errInterrupted is the error of Open between the two renames.
var errInterrupted = errors.New("a repair was interrupted: run stele repair again")

// checkInterrupted returns an error if dir is a snapshot that is not whole, or if Open
// would create a log while that of an interrupted repair is there.
func checkInterrupted(dir string) error {
	if err := checkWhole(dir); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, logDir)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(dir, repairDir)); err == nil {
		return errInterrupted
	}
	return nil
}

// Repair makes a store whose log is damaged or missing one that Open takes. It does
// what PlanRepair says, and returns the plan. If Open does not refuse the store, it
// changes nothing, unless RepairOptions.AcceptMissing is set and segments are missing:
// then the log expects them no longer, and a report in quarantine says what they had.
//
// The old log is moved, as it is, to the directory quarantine, with a report; it is
// never removed. The new log has its ID. Each intact record that no segment has
// keeps its position, and a position that is lost is not used again. Segments that
// are not of the log are moved to quarantine too, others are not changed. A log that
// is sound stays as it is, and decides which segments are its own.
//
// When Repair returns, the repair survives a power cut. A crash, or an error, leaves
// the store as it was or repaired; call Repair again then, which completes what was
// begun.
//
// The errors are those of PlanRepair and of RepairOptions.Confirm, ErrLowSpace if
// there is no space for the new log beside the old one, and those of the file
// system.
func Repair(ctx context.Context, dir string, o RepairOptions) (*RepairPlan, error) {
	r := &repair{dir: dir, o: o, now: time.Now()}
	err := r.open()
	if err == nil {
		err = errors.Join(r.run(ctx), r.close())
	}
	if err != nil {
		return nil, fmt.Errorf("logstore: repair %s: %w", dir, err)
	}
	return r.plan, nil
}

// A repair is one call of Repair.
type repair struct {
	dir  string
	o    RepairOptions
	now  time.Time
	root sys.Dir
	lock *wal.DirLock // of DIR/wal; nil while there is none
	plan *RepairPlan
}

func (r *repair) path(names ...string) string {
	return filepath.Join(append([]string{r.dir}, names...)...)
}

func (r *repair) open() (err error) {
	if r.root, err = sys.OpenDir(r.dir, sys.ForSync); err != nil {
		return &fs.PathError{Op: "open", Path: r.dir, Err: err}
	}
	fi, err := os.Lstat(r.path(logDir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !fi.IsDir():
		err = fmt.Errorf("%s is %s, not a directory; put the directory of the log in its place: %w", r.path(logDir), sys.KindOf(fi.Mode().Type()), fs.ErrInvalid)
	case err == nil:
		err = r.takeLock()
	}
	if err != nil {
		return errors.Join(err, r.root.Close())
	}
	return nil
}

func (r *repair) takeLock() (err error) {
	r.lock, err = wal.LockDir(r.path(logDir))
	return walError(err)
}

func (r *repair) close() error {
	var err error
	if r.lock != nil {
		err = r.lock.Unlock()
	}
	return errors.Join(err, r.root.Close())
}

// step is called before each step. A test fails there, as if the process ended.
func (r *repair) step(name string) error {
	if r.o.step == nil {
		return nil
	}
	return r.o.step(name)
}

func (r *repair) run(ctx context.Context) (err error) {
	if r.plan, err = planRepair(ctx, r.dir, r.o); err != nil {
		return err
	}
	p := r.plan
	accept := r.o.AcceptMissing && len(p.Missing) > 0
	if p.Refused == nil && !p.Interrupted && !accept {
		return nil
	}
	if r.o.Confirm != nil {
		if err := r.o.Confirm(p); err != nil {
			return err
		}
	}
	if p.Interrupted {
		if err := r.resume(); err != nil {
			return err
		}
	}
	if p.Refused != nil {
		if err := r.renew(ctx); err != nil {
			return err
		}
	}
	if accept {
		return r.acceptMissing(ctx)
	}
	return nil
}

// renew makes the new log.
func (r *repair) renew(ctx context.Context) error {
	p := r.plan
	if p.Free >= 0 && p.Free < p.Need {
		return fmt.Errorf("%w: the new log takes up to %d bytes beside the old one, and %d are free; nothing was changed", ErrLowSpace, p.Need, p.Free)
	}
	if p.LogKept {
		return r.setAside()
	}
	if err := r.prepare(); err != nil {
		return err
	}
	if err := r.setAside(); err != nil {
		return err
	}
	name, err := r.write(ctx)
	if err == nil {
		err = r.publish(name)
	}
	if err != nil {
		return err
	}
	return r.finish()
}

// setAside moves the segments that are not of the log to quarantine, each durably. After
// a crash the next repair finds those that are left.
func (r *repair) setAside() error {
	for _, o := range r.plan.OtherLog {
		if o.Served {
			continue
		}
		if err := r.step("set aside"); err != nil {
			return err
		}
		path, err := catalog.SetAside(r.dir, filepath.Base(o.File), o.Reason, r.now)
		if err != nil {
			return err
		}
		o.Quarantine = path
	}
	return nil
}

// prepare removes what an earlier repair has left before it published its log.
func (r *repair) prepare() error {
	if r.lock == nil {
		if err := r.makeDir(logDir); err != nil {
			return err
		}
		if err := r.takeLock(); err != nil {
			return err
		}
		if _, err := wal.Inspect(r.path(logDir)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("a log came to be in %s meanwhile; nothing was changed", r.path(logDir))
		}
	}
	if err := r.removeMark(); err != nil {
		return err
	}
	if err := os.RemoveAll(r.path(repairDir)); err != nil {
		return err
	}
	return r.sync(".")
}

// removeMark removes the mark of an earlier repair from the log: with it, a
// directory would count as one that may be removed.
func (r *repair) removeMark() error {
	err := r.root.Remove(logDir + "/" + repairMark)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: r.path(logDir, repairMark), Err: err}
	}
	return r.sync(logDir)
}

// publish puts the new log in the place of the old one.
func (r *repair) publish(name string) error {
	if err := errors.Join(r.step("publish"), r.sync(repairDir), r.sync(".")); err != nil {
		return err
	}
	if sys.CloseBeforeRename && r.lock != nil { // where no lock excludes anyone
		err := r.lock.Unlock()
		if r.lock = nil; err != nil {
			return err
		}
	}
	err := r.exchange()
	if err == nil {
		return r.sync(".")
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return &fs.PathError{Op: "exchange", Path: r.path(repairDir), Err: err}
	}
	if err := r.makeDir(catalog.QuarantineDir); err != nil {
		return err
	}
	if err := r.move(logDir, catalog.QuarantineDir+"/"+name); err != nil {
		return err
	}
	if err := r.step("publish again"); err != nil {
		return err
	}
	return r.move(repairDir, logDir)
}

// exchange exchanges the names of both logs, or fails with ErrUnsupported.
func (r *repair) exchange() error {
	if r.o.twoRenames {
		return errors.ErrUnsupported
	}
	err := r.root.Exchange(repairDir, r.root, logDir)
	if isNoExchange(err) {
		err = errors.ErrUnsupported
	}
	return err
}

// resume completes what an earlier repair had begun to publish.
func (r *repair) resume() error {
	if r.lock == nil { // between the two renames
		if err := r.move(repairDir, logDir); err != nil {
			return err
		}
		if err := r.takeLock(); err != nil {
			return err
		}
		r.plan.LogDir = r.path(logDir)
	}
	return r.finish()
}

// finish moves the old log into quarantine.
func (r *repair) finish() error {
	name, report, err := readMark(r.path(logDir))
	if errors.Is(err, fs.ErrNotExist) {
		name, report, err = r.newName(quarantinedN), "the report of this repair is lost\n", nil
	}
	if err == nil {
		err = r.step("report")
	}
	if err == nil {
		err = r.makeDir(catalog.QuarantineDir)
	}
	if err == nil {
		o := atomicfile.Options{Temp: "*.part"} // which package catalog removes after a crash
		err = atomicfile.WriteFileWith(r.path(catalog.QuarantineDir, name+catalog.ReportSuffix), []byte(report), 0o644, o)
	}
	if err == nil {
		err = r.step("move")
	}
	if err != nil {
		return err
	}
	if _, err := r.root.Lstat(repairDir); err == nil {
		if err := r.move(repairDir, catalog.QuarantineDir+"/"+name); err != nil {
			return err
		}
	}
	r.plan.Quarantine = r.path(catalog.QuarantineDir, name)
	if err := r.step("unmark"); err != nil {
		return err
	}
	return r.removeMark()
}

// move renames a directory, durably. No other process makes directories here.
func (r *repair) move(from, to string) error {
	if _, err := r.root.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "rename", Path: r.path(to), Err: fs.ErrExist}
	}
	if err := r.root.Rename(from, to); err != nil {
		return &fs.PathError{Op: "rename", Path: r.path(from), Err: err}
	}
	if into := filepath.Dir(to); into != "." {
		if err := r.sync(into); err != nil {
			return err
		}
	}
	return r.sync(".")
}

// makeDir makes a directory in that of the store, durably, unless it is there.
func (r *repair) makeDir(name string) error {
	m, err := mkdir.OpenRoot(r.dir, mkdir.Options{})
	if err != nil {
		return err
	}
	return errors.Join(m.All(name, 0o755), m.Close())
}

// sync makes the names in a directory durable.
func (r *repair) sync(name string) error {
	if !sys.CanSyncDir {
		return nil
	}
	d, err := r.root.Open(name, sys.ForSync)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: r.path(name), Err: err}
	}
	return nil
}

// newName returns a free name in quarantine.
func (r *repair) newName(prefix string) string {
	base := prefix + r.now.UTC().Format("20060102T150405Z")
	name := base
	for n := 2; ; n++ {
		_, err := r.root.Lstat(catalog.QuarantineDir + "/" + name)
		_, err2 := r.root.Lstat(catalog.QuarantineDir + "/" + name + catalog.ReportSuffix)
		if errors.Is(err, fs.ErrNotExist) && errors.Is(err2, fs.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s.%d", base, n)
	}
}

// writeMark writes the mark of a repair, whose first line is the name in quarantine
// and the rest the report.
func (r *repair) writeMark(name string) error {
	text := name + "\n" + r.plan.report(name, r.now)
	return atomicfile.WriteFile(r.path(repairDir, repairMark), []byte(text), 0o644)
}

func readMark(dir string) (name, report string, err error) {
	mark := filepath.Join(dir, repairMark)
	p, err := os.ReadFile(mark)
	if err != nil {
		return "", "", err
	}
	name, report, _ = strings.Cut(string(p), "\n")
	if !strings.HasPrefix(name, quarantinedN) || strings.ContainsAny(name, `/\`) {
		return "", "", fmt.Errorf("%s is not a mark of a repair; move it away", mark)
	}
	return name, report, nil
}
