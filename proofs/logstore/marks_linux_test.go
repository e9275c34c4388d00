package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of marks: where the log has no space to say that segments are deleted, files
// say so, and after a crash nothing is called missing.

const markedSegments = 3 // of a line each

// markedAt returns the time of line i: too far from that of another for a compaction.
func markedAt(i int) int64 { return int64(i) * 1e16 }

func appendMarked(s *logstore.Store, i int) error {
	e := logstore.Entry{Time: markedAt(i), Line: []byte(strconv.Itoa(i))}
	return s.Append(context.Background(), logstore.Batch{{Labels: logstore.MustLabels("app", "marked"), Entries: []logstore.Entry{e}}})
}

// prepareMarked makes a store as a full disk leaves it: a segment is deleted, and a mark
// says so.
func prepareMarked(dir string) error {
	s, err := logstore.Open(dir, keepingOptions())
	if err != nil {
		return err
	}
	for i := range markedSegments {
		err = errors.Join(err, appendMarked(s, i), s.Seal(context.Background()))
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	segments, err := filepath.Glob(filepath.Join(dir, "segments", "*.seg"))
	if err != nil || len(segments) != markedSegments {
		return fmt.Errorf("segments: %v, %v", segments, err)
	}
	mark := strings.TrimSuffix(segments[0], ".seg") + ".gone"
	return errors.Join(os.Remove(segments[0]), os.WriteFile(mark, nil, 0o644))
}

// dropMark goes on with the store. A seal makes the roster durable and drops the mark.
func dropMark(dir string, ack func(string)) error {
	s, err := logstore.Open(dir, keepingOptions())
	if err != nil {
		return err
	}
	<-s.Ready()
	for i := range 2 {
		if err == nil {
			err = appendMarked(s, markedSegments+i)
		}
		if err == nil {
			ack(strconv.Itoa(markedSegments + i))
			err = s.Seal(context.Background())
		}
	}
	if marks := marksOf(dir); err == nil && len(marks) > 0 {
		err = fmt.Errorf("a seal leaves the marks %v", marks)
	}
	return errors.Join(err, s.Close())
}

func marksOf(dir string) []string {
	marks, _ := filepath.Glob(filepath.Join(dir, "segments", "*.gone"))
	return marks
}

// checkMarked opens the store after a crash: nothing is missing but what was to be deleted.
func checkMarked(dir string, ledger []string) error {
	s, err := openAfterCrash(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := noLosses(s, dir); err != nil {
		return err
	}
	var lines []string
	for r, err := range s.Query(context.Background(), logstore.Query{}) {
		if err != nil {
			return err
		}
		lines = append(lines, string(r.Line))
	}
	must := append([]string{"1", "2"}, ledger...)
	for _, line := range must {
		if !slices.Contains(lines, line) {
			return fmt.Errorf("%s of %q: %w", line, lines, prove.ErrLost)
		}
	}
	err = errors.Join(appendMarked(s, markedSegments+2), s.Seal(context.Background()))
	if marks := marksOf(dir); err == nil && len(marks) > 0 {
		err = fmt.Errorf("a seal leaves the marks %v", marks)
	}
	return err
}

func TestMarksStates(t *testing.T) {
	t.Parallel()
	h := prove.RecordMount(t, states.MountOptions{Prepare: prepareMarked}, dropMark)
	for _, model := range []states.Model{states.POSIX, states.Journaled} {
		rep := h.CheckDir(states.Options{Max: crashSample(12), Seed: prove.Seed(t), Model: model}, checkMarked)
		if t.Log(rep); rep.Err() != nil {
			t.Error(rep)
		}
	}
}

// Without the mark the deleted segment is missing.
func TestMarksCheckBites(t *testing.T) {
	dir := t.TempDir()
	if err := prepareMarked(dir); err != nil {
		t.Fatal(err)
	}
	for _, mark := range marksOf(dir) {
		if err := os.Remove(mark); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkMarked(dir, nil); !errors.Is(err, prove.ErrLost) {
		t.Errorf("%v; want a segment that is missing", err)
	}
}
