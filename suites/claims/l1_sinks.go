package claims

import (
	"bufio"
	"errors"
	"os"
	"sync"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// An l1Sink takes encoded lines for the log of L1. Calls of add are one after the other,
// commit is called by many and returns once all up to end survive.
type l1Sink interface {
	add(payload []byte) (end int64, err error)
	commit(end int64) error
	close() error
}

// An l1Buffer is one buffer. The first that commits writes, and syncs where the server
// promises Power, for all whose lines are in it.
type l1Buffer struct {
	f     *os.File
	level durability.Level

	mu             sync.Mutex
	w              *bufio.Writer
	added, flushed int64

	syncing sync.Mutex
	synced  int64
}

func newL1Buffer(f *os.File, level durability.Level) l1Sink {
	return &l1Buffer{f: f, level: level, w: bufio.NewWriterSize(f, 64<<10)}
}

func (s *l1Buffer) add(payload []byte) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.w.Write(payload)
	s.added += int64(n)
	return s.added, err
}

func (s *l1Buffer) flush(end int64) (flushed int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flushed < end {
		if err := s.w.Flush(); err != nil {
			return 0, err
		}
		s.flushed = s.added
	}
	return s.flushed, nil
}

func (s *l1Buffer) commit(end int64) error {
	if s.level < durability.Power {
		_, err := s.flush(end)
		return err
	}
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if s.synced >= end {
		return nil
	}
	flushed, err := s.flush(end)
	if err == nil {
		err = sys.SyncData(s.f)
	}
	if err == nil {
		s.synced = flushed
	}
	return err
}

func (s *l1Buffer) close() error { return errors.Join(s.w.Flush(), s.f.Close()) }

// l1ThreeLevels is the log of L10 as meant, which at level Kill writes pages and does not
// sync them.
type l1ThreeLevels struct{ t *threeLevels }

func newL1Levels(f *os.File, level durability.Level) l1Sink {
	t := newThreeLevels(f, false)
	if level < durability.Power {
		t.mu.Lock()
		t.sync = func(*os.File) error { return nil }
		t.mu.Unlock()
	}
	return l1ThreeLevels{t}
}

func (s l1ThreeLevels) add(payload []byte) (int64, error) {
	err := s.t.append(payload, false)
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	return s.t.added, err
}

func (s l1ThreeLevels) commit(end int64) error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	for s.t.err == nil && s.t.synced < end {
		s.t.syncs.Wait()
	}
	return s.t.err
}

func (s l1ThreeLevels) close() error { return s.t.close() }
