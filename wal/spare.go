package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// fillPiece is how many bytes of a new segment are written, and in the
// background synced, at once.
const fillPiece = 1 << 20

// maxPause bounds how long the background rests between two pieces.
const maxPause = 50 * time.Millisecond

// prepare has Options.Spares segments made ready in the background, unless
// that is under way. Its errors come out of advance, which tries again.
func (s *store) prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start(false)
}

// start has at least one segment made if one is needed. The caller holds mu.
func (s *store) start(urgent bool) {
	s.urgent = s.urgent || urgent
	if s.running || s.closing || len(s.ready) >= s.spares && !urgent {
		return
	}
	s.running = true
	go s.run()
}

// run makes segments until there are enough, or one cannot be made.
func (s *store) run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.prepareErr = nil; !s.closing && (len(s.ready) < s.spares || len(s.ready) == 0); {
		number := s.lastNumber + 1
		s.mu.Unlock()
		t := s.made.Start()
		g, err := s.make(number)
		if err == nil {
			t.Stop()
		}
		s.mu.Lock()
		if err != nil {
			s.prepareErr = err
			break
		}
		s.lastNumber = number
		s.ready = append(s.ready, g)
		s.urgent = false
		s.cond.Broadcast()
	}
	s.running, s.urgent = false, false
	s.cond.Broadcast()
}

// take returns the next segment, and waits for it if there is none.
func (s *store) take() (*segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) == 0 {
		s.start(true)
		for s.running && len(s.ready) == 0 {
			s.cond.Wait()
		}
		switch {
		case len(s.ready) > 0:
		case s.closing:
			return nil, ErrClosed
		default:
			return nil, s.prepareErr
		}
	}
	g := s.ready[0]
	s.ready = s.ready[1:]
	return g, nil
}

// hurried reports whether somebody waits for the segment that is being made,
// and whether nobody wants it any more.
func (s *store) hurried() (urgent, closing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.urgent, s.closing
}

// make makes a segment, ready to be used and durable with its name. It is open
// for writing. What fails leaves nothing behind.
func (s *store) make(number uint64) (*segment, error) {
	var salt [8]byte
	rand.Read(salt[:]) // never fails
	g := &segment{
		path:   s.path(segmentName(number)),
		number: number,
		size:   s.segmentSize,
		salt:   binary.LittleEndian.Uint64(salt[:]),
	}
	g.seed = seedOf(g.salt)
	temp := strings.TrimSuffix(segmentName(number), segmentExt) + tempExt

	s.mu.Lock()
	var old uint64
	if n := len(s.free); n > 0 {
		old, s.free = s.free[n-1], s.free[:n-1]
	}
	s.mu.Unlock()
	err := fs.ErrNotExist
	if old != 0 {
		err = s.renew(g, temp, old)
	}
	if errors.Is(err, fs.ErrNotExist) { // or somebody has tidied it away
		err = s.create(g, temp)
	}
	if err == nil {
		err = s.finish(g, temp)
	}
	if err != nil {
		err = errors.Join(err, g.close())
		s.d.Remove(temp)
		return nil, err
	}
	return g, nil
}

// create makes the file temp full of zeros.
//
// They are written, not only allocated, so that the extents are marked as
// written and have their place: a later fdatasync(2) has data to write and no
// metadata. Where a file system never writes in place (btrfs, ZFS, bcachefs)
// that is of no use, and the room is only reserved.
func (s *store) create(g *segment, temp string) error {
	f, err := s.d.CreateFile(temp, s.path(temp), 0o666, sys.CreateEmpty)
	if err != nil {
		return pathError("open", s.path(temp), err)
	}
	g.file = f
	err = sys.AllocateTo(f, g.size)
	reserved := err == nil
	if err != nil && !sys.Absent(err) {
		return pathError("fallocate", s.path(temp), err)
	}
	if s.cow {
		if !reserved {
			return f.Truncate(g.size)
		}
		return nil
	}
	zeros := make([]byte, fillPiece)
	for off := int64(0); off < g.size; {
		began := time.Now()
		n, err := f.WriteAt(zeros[:min(fillPiece, g.size-off)], off)
		if err != nil {
			return fmt.Errorf("wal: %w", err)
		}
		off += int64(n)
		urgent, closing := s.hurried()
		if closing {
			return ErrClosed
		}
		if urgent {
			continue
		}
		// Appends share the device. Its queue is kept short, and left to them
		// half of the time.
		if err := sys.SyncData(f); err != nil {
			return pathError("fdatasync", s.path(temp), err)
		}
		time.Sleep(min(time.Since(began), maxPause))
	}
	return nil
}

// renew makes the file temp of a segment that is no longer needed. It has its
// old name, which is not that of a segment of the log, until then.
func (s *store) renew(g *segment, temp string, old uint64) error {
	if err := s.d.Rename(segmentName(old), temp); err != nil {
		return pathError("rename", s.path(segmentName(old)), err)
	}
	f, err := openFile(s.path(temp), true)
	if err != nil {
		return err
	}
	g.file, g.was = f, old
	return nil
}

// finish writes the header into temp and gives it its name, each durably
// before the next.
func (s *store) finish(g *segment, temp string) error {
	if err := g.write(g.header(s.id), 0); err != nil {
		return err
	}
	if err := sys.SyncAll(g.file); err != nil {
		return pathError("fsync", s.path(temp), err)
	}
	if err := s.d.Rename(temp, filepath.Base(g.path)); err != nil {
		return pathError("rename", s.path(temp), err)
	}
	if err := s.syncDir(); err != nil {
		// The name may or may not be durable. Nobody has used it.
		s.d.Remove(filepath.Base(g.path))
		return err
	}
	return nil
}

// reclaim keeps the file of a segment that is no longer needed for another
// one, or removes it. Nobody has it open.
func (s *store) reclaim(g *segment) {
	s.mu.Lock()
	if s.closing {
		// Another process may have the log by now. Opening it reclaims this.
		s.mu.Unlock()
		return
	}
	keep := !s.cow && g.size == s.segmentSize && len(s.free) < s.spares
	if keep {
		s.free = append(s.free, g.number)
	}
	s.mu.Unlock()
	if !keep {
		// If that fails it is tried again when the log is opened.
		os.Remove(g.path)
	}
}
