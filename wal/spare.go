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

// fillChunk is the number of bytes of a new segment that are written at once,
// and synced at once in the background.
const fillChunk = 1 << 20

// maxPause is the longest pause of the background between two chunks.
const maxPause = 50 * time.Millisecond

// prepare starts preparing Options.Spares segments in the background. Errors are
// returned by advance, which tries again.
func (s *store) prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startPreparing(false)
}

// startPreparing starts prepareLoop if it does not run and a segment is missing.
// The caller has locked mu.
func (s *store) startPreparing(urgent bool) {
	s.urgent = s.urgent || urgent
	if s.preparing || s.closing || len(s.ready) >= s.spares && !urgent {
		return
	}
	s.preparing = true
	go s.prepareLoop()
}

// prepareLoop creates segments until there are enough, or one fails.
func (s *store) prepareLoop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.prepareErr = nil; !s.closing && (len(s.ready) < s.spares || len(s.ready) == 0); {
		number := s.lastNumber + 1
		s.mu.Unlock()
		t := s.creates.Start()
		g, err := s.createSegment(number)
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
	s.preparing, s.urgent = false, false
	s.cond.Broadcast()
}

// takePrepared returns the next segment, and waits if none is prepared.
func (s *store) takePrepared() (*segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) == 0 {
		s.startPreparing(true)
		for s.preparing && len(s.ready) == 0 {
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

// priority reports whether an append waits for the segment that is being
// created, and whether the store is closing.
func (s *store) priority() (urgent, closing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.urgent, s.closing
}

// createSegment creates a segment, durable with its name, and returns it open
// for writing. After an error no file is left.
func (s *store) createSegment(number uint64) (*segment, error) {
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
		err = s.recycle(g, temp, old)
	}
	if errors.Is(err, fs.ErrNotExist) { // no file to recycle, or it has been removed
		err = s.fill(g, temp)
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

// fill creates the file temp full of zeros.
//
// The zeros are written, not only allocated, so that the extents are marked as
// written and a later fdatasync(2) writes data and no metadata. On a file system
// that never writes in place (btrfs, ZFS, bcachefs) that gains nothing, and the
// space is only reserved.
func (s *store) fill(g *segment, temp string) error {
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
	zeros := make([]byte, fillChunk)
	for off := int64(0); off < g.size; {
		began := time.Now()
		n, err := f.WriteAt(zeros[:min(fillChunk, g.size-off)], off)
		if err != nil {
			return fmt.Errorf("wal: %w", err)
		}
		off += int64(n)
		urgent, closing := s.priority()
		if closing {
			return ErrClosed
		}
		if urgent {
			continue
		}
		// Appends share the device: keep its queue short, and leave it to them
		// half of the time.
		if err := sys.SyncData(f); err != nil {
			return pathError("fdatasync", s.path(temp), err)
		}
		time.Sleep(min(time.Since(began), maxPause))
	}
	return nil
}

// recycle makes the file of the discarded segment old the file temp.
func (s *store) recycle(g *segment, temp string, old uint64) error {
	if err := s.d.Rename(segmentName(old), temp); err != nil {
		return pathError("rename", s.path(segmentName(old)), err)
	}
	f, err := openFile(s.path(temp), true)
	if err != nil {
		return err
	}
	g.file, g.recycledFrom = f, old
	return nil
}

// finish writes the header into temp, durably, and then renames it, durably.
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
		// The name may or may not be durable. The segment is unused.
		s.d.Remove(filepath.Base(g.path))
		return err
	}
	return nil
}

// reclaim keeps the file of a truncated segment, which is not open, for
// recycling, or removes it.
func (s *store) reclaim(g *segment) {
	s.mu.Lock()
	if s.closing {
		// Another process may have the log by now. The next Open reclaims this.
		s.mu.Unlock()
		return
	}
	keep := !s.cow && g.size == s.segmentSize && len(s.free) < s.spares
	if keep {
		s.free = append(s.free, g.number)
	}
	s.mu.Unlock()
	if !keep {
		// After an error the next Open tries again.
		os.Remove(g.path)
	}
}
