package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/mkdir"
)

// openStore opens the log in dir, or makes one: it takes the lock, verifies,
// cuts a torn tail. All that it found is durable when it returns. o has its
// defaults filled in (SegmentSize, Spares). It starts no goroutine: call
// prepare. A log that is damaged is left as it is.
func openStore(dir string, o Options) (_ *store, _ Report, err error) {
	if !sys.CanSyncDir && o.Level == durability.Power {
		return nil, Report{}, fmt.Errorf("wal: open %s: a folder cannot be made durable here, so a log cannot be at level Power: %w", dir, errors.ErrUnsupported)
	}
	if err := makeFolder(dir); err != nil {
		return nil, Report{}, err
	}
	d, err := sys.OpenDir(dir, sys.ForSync)
	if err != nil {
		return nil, Report{}, pathError("open", dir, err)
	}
	s := &store{dir: dir, d: d, segmentSize: o.SegmentSize, spares: o.Spares, cow: neverInPlace(dir)}
	s.cond.L = &s.mu
	defer func() {
		if err != nil {
			s.give()
		}
	}()
	if s.lock, err = lockFolder(d, dir); err != nil {
		return nil, Report{}, err
	}
	r, half, f, err := s.load(o.LazyVerify)
	if err != nil {
		return nil, Report{}, err
	}
	if err := s.recover(r, f); err != nil {
		return nil, Report{}, err
	}
	return s, r.report(s.meta, half), nil
}

// load reads what is in the folder, and makes a log where there is none.
func (s *store) load(lazy bool) (r finding, half bool, f folder, err error) {
	if f, err = readFolder(s.dir); err != nil {
		return r, false, f, err
	}
	if f.irregular != nil {
		return r, false, f, f.irregular
	}
	if !f.hasMeta {
		if len(f.numbers) > 0 {
			return r, false, f, errNoMeta(s.path(metaName))
		}
		// A process that was killed here may have made the folder and no more.
		if err := errors.Join(syncEntry(s.dir), s.createMeta()); err != nil {
			return r, false, f, err
		}
	}
	if s.metaFile, err = openFile(s.path(metaName), true); err != nil {
		return r, false, f, err
	}
	if s.meta, s.stale, half, err = readMeta(s.metaFile, s.path(metaName)); err != nil {
		return r, half, f, err
	}
	s.id = s.meta.id
	numbers, err := f.split(s.meta)
	if err != nil {
		return r, half, f, err
	}
	if len(numbers) == 0 {
		numbers = []uint64{s.meta.segment}
		s.urgent = true
		g, err := s.make(s.meta.segment)
		if s.urgent = false; err != nil {
			return r, half, f, err
		}
		if err := g.close(); err != nil {
			return r, half, f, err
		}
	}
	r, err = examine(f, s.meta, numbers, lazy)
	return r, half, f, err
}

// recover makes a sound log ready for use.
func (s *store) recover(r finding, f folder) error {
	for _, name := range f.temps {
		if err := s.d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return pathError("remove", s.path(name), err)
		}
	}
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
		// Also if there is a torn record behind the mark, which settle cuts: a
		// segment keeps room for one mark only.
		s.closedAt = r.last.off
	}
	if r.before != nil {
		// Its end record is there, but maybe not its sync.
		if err := settleClosed(*r.before); err != nil {
			return err
		}
	}
	if err := settle(tail, r.last, r.tear); err != nil {
		return err
	}
	// A process that was killed may have renamed files and written META
	// without a sync. What rests on that must not outlive it.
	if err := s.syncDir(); err != nil {
		return err
	}
	s.meta.sequence++
	s.meta.next = r.next
	if err := writeMeta(s.metaFile, s.meta, s.stale); err != nil {
		return err
	}
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
	return nil
}

// settle makes the end of the log durable as it was found: zeros over what is
// torn, and what was not known to be durable written once more. The latter is
// because of a failed sync: after that the kernel takes pages for clean that
// are not on the disk, and the next sync of another process succeeds.
func settle(g *segment, s scanned, t tear) error {
	b := make([]byte, min(fillPiece, max(s.off-s.durable, 0)))
	for off := s.durable; off < s.off; off += int64(len(b)) {
		b = b[:min(int64(len(b)), s.off-off)]
		if _, err := g.file.ReadAt(b, off); err != nil {
			return fmt.Errorf("wal: %w", err)
		}
		if err := g.write(b, off); err != nil {
			return err
		}
	}
	if t.torn(g) {
		zeros := make([]byte, min(fillPiece, t.end(g)-t.off))
		for off := t.off; off < t.end(g); off += int64(len(zeros)) {
			if err := g.write(zeros[:min(int64(len(zeros)), t.end(g)-off)], off); err != nil {
				return err
			}
		}
	}
	return g.sync()
}

// settleClosed is settle of a complete segment, which is not open.
func settleClosed(s scanned) error {
	if err := s.g.open(true); err != nil {
		return err
	}
	return errors.Join(settle(s.g, s, tear{}), s.g.close())
}

// createMeta makes META, durably with its name, or not at all.
func (s *store) createMeta() error {
	const temp = metaName + tempExt
	f, err := s.d.CreateFile(temp, s.path(temp), 0o666, sys.CreateEmpty)
	if err != nil {
		return pathError("open", s.path(temp), err)
	}
	_, err = f.Write(metaFile(newMeta()))
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

// syncDir makes the names in the folder durable, where the system can.
func (s *store) syncDir() error {
	if !sys.CanSyncDir {
		return nil
	}
	if err := s.d.Sync(); err != nil {
		return pathError("fsync", s.dir, err)
	}
	return nil
}

// makeFolder makes dir and what is missing above it, where the system can
// durably, at every level: a Sync promises no less.
func makeFolder(dir string) error {
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

// syncEntry makes the entry of the folder name in its parent durable. Where
// this user may not read the parent, whoever made the folder has to see to it.
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

// neverInPlace reports whether the file system of dir writes every change to
// another place.
func neverInPlace(dir string) bool {
	fi, err := sys.StatFS(dir)
	return err == nil && slices.Contains([]string{"btrfs", "zfs", "bcachefs"}, sys.FSName(fi.Magic))
}
