package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/mkdir"
)

// openStore opens the log in dir, or creates one: it locks, verifies, and cuts a
// torn tail. When it returns, all that it found is durable. A damaged log is not
// changed. The options o have their defaults. openStore starts no goroutine;
// call prepare.
func openStore(dir string, o Options) (_ *store, _ Report, err error) {
	if !sys.CanSyncDir && o.Level == durability.Power {
		return nil, Report{}, fmt.Errorf("wal: open %s: level power needs a sync of the directory, which %s does not have; want level kill or none: %w", dir, runtime.GOOS, errors.ErrUnsupported)
	}
	s, err := lockStore(dir)
	if err != nil {
		return nil, Report{}, err
	}
	s.segmentSize, s.spares, s.cow = o.SegmentSize, o.Spares, neverInPlace(dir)
	defer func() {
		if err != nil {
			s.closeFiles()
		}
	}()
	r, degraded, f, err := s.load(o.LazyVerify)
	if err != nil {
		return nil, Report{}, err
	}
	if err := s.recover(r, f, o); err != nil {
		return nil, Report{}, err
	}
	return s, r.report(s.meta, degraded), nil
}

// lockStore makes the directory of a log, durably, and locks it.
func lockStore(dir string) (*store, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	d, err := sys.OpenDir(dir, sys.ForSync)
	if err != nil {
		return nil, pathError("open", dir, err)
	}
	s := &store{dir: dir, d: d}
	s.cond.L = &s.mu
	if s.lock, err = lockDir(d, dir); err != nil {
		s.closeFiles()
		return nil, err
	}
	return s, nil
}

// load reads the directory, and creates a log if it has none.
func (s *store) load(lazy bool) (r logScan, degraded bool, f listing, err error) {
	if f, err = readListing(s.dir); err != nil {
		return r, false, f, err
	}
	if f.irregular != nil {
		return r, false, f, f.irregular
	}
	if !f.hasMeta {
		if len(f.numbers) > 0 {
			return r, false, f, errNoMeta(s.path(metaName))
		}
		if err := s.createMeta(newMeta()); err != nil {
			return r, false, f, err
		}
	}
	if s.metaFile, err = openFile(s.path(metaName), true); err != nil {
		return r, false, f, err
	}
	if s.meta, s.metaSlot, degraded, err = readMeta(s.metaFile, s.path(metaName)); err != nil {
		return r, degraded, f, err
	}
	s.id = s.meta.id
	l, err := f.split(s.meta)
	if err != nil {
		return r, degraded, f, err
	}
	if len(l.numbers) == 0 {
		l.numbers, l.whole = []uint64{s.meta.segment}, 1
		s.urgent = true
		g, err := s.createSegment(s.meta.segment)
		if s.urgent = false; err != nil {
			return r, degraded, f, err
		}
		if err := g.close(); err != nil {
			return r, degraded, f, err
		}
	}
	r, err = l.examine(s.meta, lazy)
	return r, degraded, f, err
}

// recover makes an undamaged log ready for appends.
func (s *store) recover(r logScan, f listing, o Options) error {
	s.used, s.ready = r.segments[:r.tail+1:r.tail+1], r.segments[r.tail+1:]
	tail := s.used[r.tail]
	tail.refs = 1
	for _, g := range r.segments[r.tail:] {
		if err := g.open(true); err != nil {
			return err
		}
	}
	s.lastNumber = r.segments[len(r.segments)-1].number
	s.tailOff, s.tailNext = r.last.off, r.next
	if r.last.closed {
		// Also if a torn record follows the mark, which rewriteTail cuts: a
		// segment keeps space for one mark only.
		s.closedAt = r.last.off
	}
	// Before anything is changed.
	if err := r.saveTorn(o.SaveTorn); err != nil {
		return err
	}
	if err := s.discard(r.useless, o.SetAside); err != nil {
		return err
	}
	for _, name := range f.temps {
		if err := s.d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return pathError("remove", s.path(name), err)
		}
	}
	if r.before != nil {
		// Its end record was written, perhaps not synced.
		if err := rewriteCompleted(*r.before); err != nil {
			return err
		}
	}
	if err := rewriteTail(tail, r.last, r.torn); err != nil {
		return err
	}
	// A process that was killed may have renamed files and written META
	// without a sync. Make them durable before anything that relies on them.
	if err := s.syncDir(); err != nil {
		return err
	}
	s.meta.sequence++
	s.meta.next = r.next
	if err := writeMeta(s.metaFile, s.meta, s.metaSlot); err != nil {
		return err
	}
	s.reclaimLeftovers(f)
	return nil
}

// saveTorn calls save for a torn tail, which is open, before it is cut.
func (r *logScan) saveTorn(save func(TornTail, io.Reader) error) error {
	g := r.last.g
	if save == nil || !r.torn.exists(g) {
		return nil
	}
	t := r.torn.report(g, r.next)
	if err := save(*t, io.NewSectionReader(g.file, t.Offset, t.Bytes)); err != nil {
		return fmt.Errorf("wal: save the torn tail of %s at offset %d: %w", t.File, t.Offset, err)
	}
	return nil
}

// reclaimLeftovers reclaims the segments that a truncation has left.
func (s *store) reclaimLeftovers(f listing) {
	for _, n := range f.numbers {
		if n >= s.meta.segment {
			break
		}
		path := s.path(segmentName(n))
		fi, err := os.Lstat(path)
		if err != nil || !fi.Mode().IsRegular() {
			continue
		}
		s.reclaim(&segment{path: path, number: n, size: fi.Size()})
	}
}

// rewriteTail makes the end of the log durable as it was found: it writes zeros
// over a torn tail, and once more the records not known to be durable. The
// latter because of failed syncs: after one the kernel holds pages as clean that
// are not on the disk, and the next sync of another process succeeds.
func rewriteTail(g *segment, s segmentScan, t tornTail) error {
	b := make([]byte, min(fillChunk, max(s.off-s.durable, 0)))
	for off := s.durable; off < s.off; off += int64(len(b)) {
		b = b[:min(int64(len(b)), s.off-off)]
		if _, err := g.file.ReadAt(b, off); err != nil {
			return fmt.Errorf("wal: %w", err)
		}
		if err := g.write(b, off); err != nil {
			return err
		}
	}
	if t.exists(g) {
		zeros := make([]byte, min(fillChunk, t.end(g)-t.off))
		for off := t.off; off < t.end(g); off += int64(len(zeros)) {
			if err := g.write(zeros[:min(int64(len(zeros)), t.end(g)-off)], off); err != nil {
				return err
			}
		}
	}
	return g.sync()
}

// rewriteCompleted is rewriteTail of a complete segment, which is not open.
func rewriteCompleted(s segmentScan) error {
	if err := s.g.open(true); err != nil {
		return err
	}
	return errors.Join(rewriteTail(s.g, s, tornTail{}), s.g.close())
}

// createMeta creates META, durably with its name and that of the directory. A
// crash leaves no META or all of it.
func (s *store) createMeta(m meta) error {
	// A process that was killed may have created the directory only.
	if err := syncEntry(s.dir); err != nil {
		return err
	}
	const temp = metaName + tempExt
	f, err := s.d.CreateFile(temp, s.path(temp), 0o666, sys.CreateEmpty)
	if err != nil {
		return pathError("open", s.path(temp), err)
	}
	_, err = f.Write(metaFile(m))
	if err == nil {
		if err = sys.SyncAll(f); err != nil {
			err = &fs.PathError{Op: "fsync", Path: s.path(temp), Err: err}
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	if err := s.d.Rename(temp, metaName); err != nil {
		return pathError("rename", s.path(temp), err)
	}
	return s.syncDir()
}

// syncDir makes the names in the directory durable, on systems that can.
func (s *store) syncDir() error {
	if !sys.CanSyncDir {
		return nil
	}
	if err := s.d.Sync(); err != nil {
		return pathError("fsync", s.dir, err)
	}
	return nil
}

// makeDir creates dir and its missing parents, on systems that can durably,
// at every level: a later Sync promises durable records.
func makeDir(dir string) error {
	if dir == "" {
		return pathError("open", dir, syscall.ENOENT)
	}
	there := filepath.Clean(dir)
	missing := ""
	for {
		_, err := os.Stat(there)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("wal: %w", err)
		}
		missing = filepath.Join(filepath.Base(there), missing)
		there = filepath.Dir(there)
	}
	if missing == "" {
		return nil
	}
	level := durability.Power
	if !sys.CanSyncDir {
		level = durability.Kill
	}
	m, err := mkdir.OpenRoot(there, mkdir.Options{Level: level})
	if err == nil {
		err = errors.Join(m.All(missing, 0o777), m.Close())
	}
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// syncEntry makes the entry of the directory name in its parent durable. If the
// process may not read the parent, that is left to the directory's creator.
func syncEntry(name string) error {
	if !sys.CanSyncDir {
		return nil
	}
	parent := filepath.Join(name, "..")
	d, err := sys.OpenDir(parent, sys.ForSync)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return pathError("open", parent, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return pathError("fsync", parent, err)
	}
	return nil
}

// neverInPlace reports whether the file system of dir is copy-on-write.
func neverInPlace(dir string) bool {
	fi, err := sys.StatFS(dir)
	return err == nil && slices.Contains([]string{"btrfs", "zfs", "bcachefs"}, sys.FSName(fi.Magic))
}
