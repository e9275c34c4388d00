package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of deletions that are cancelled: after a crash, the entries of a deletion are
// there or not, all alike, wherever they lie; they are there once CancelDeletion has
// returned, and are not once Delete has.

const (
	cancelTags   = 4 // each is deleted by itself
	cancelPlaces = 3 // where each has an entry: two segments and the log
)

func tagLine(tag int) string { return fmt.Sprintf("tag %d.", tag) }

// prepareTags makes a store with an entry of each tag in each place.
func prepareTags(dir string) error {
	s, err := logstore.Open(dir, keepingOptions())
	if err != nil {
		return err
	}
	for place := range cancelPlaces {
		var entries []logstore.Entry
		for tag := range cancelTags {
			entries = append(entries, logstore.Entry{Time: markedAt(place) + int64(tag), Line: []byte(tagLine(tag))})
		}
		err = errors.Join(err, s.Append(context.Background(), logstore.Batch{{Labels: logstore.MustLabels("app", "tags"), Entries: entries}}))
		if place < cancelPlaces-1 {
			err = errors.Join(err, s.Seal(context.Background()))
		}
	}
	return errors.Join(err, s.Close())
}

// A canceller deletes tags and cancels that. Its first error ends it.
type canceller struct {
	*logstore.Store
	ack func(string)
	err error
}

func (c *canceller) delete(tag int) (position uint64) {
	if c.err == nil {
		c.ack(fmt.Sprint("deleting ", tag))
		position, c.err = c.Delete(context.Background(), logstore.Deletion{Lines: []logstore.LineMatch{{Op: logstore.Equal, Text: tagLine(tag)}}})
	}
	if c.err == nil {
		c.ack(fmt.Sprint("deleted ", tag))
	}
	return position
}

func (c *canceller) cancel(tag int, position uint64) {
	if c.err == nil {
		c.ack(fmt.Sprint("cancelling ", tag))
		c.err = c.CancelDeletion(context.Background(), "", position)
	}
	if c.err == nil {
		c.ack(fmt.Sprint("cancelled ", tag))
	}
}

func (c *canceller) do(f func(ctx context.Context) error) {
	if c.err == nil {
		c.err = f(context.Background())
	}
}

// cancelDeletions cancels a deletion at once, one that a seal has kept, one that was
// repeated, and cannot cancel one that a compaction has applied.
func cancelDeletions(dir string, ack func(string)) error {
	s, err := logstore.Open(dir, keepingOptions())
	if err != nil {
		return err
	}
	<-s.Ready()
	c := &canceller{s, ack, nil}
	c.cancel(0, c.delete(0))
	kept := c.delete(1)
	c.do(s.Seal)
	c.cancel(1, kept)
	c.delete(2)
	c.cancel(2, c.delete(2))
	c.delete(0)
	applied := c.delete(3)
	c.do(s.Compact)
	if c.err == nil {
		err := s.CancelDeletion(context.Background(), "", applied)
		if !errors.Is(err, logstore.ErrDeletionApplied) && !errors.Is(err, logstore.ErrNoDeletion) {
			c.err = fmt.Errorf("cancelling a deletion that was applied: %w", err)
		}
	}
	return errors.Join(c.err, s.Close())
}

// A tagState says what may be of a tag after a crash.
type tagState struct{ there, gone bool }

func tagStates(ledger []string) (list [cancelTags]tagState) {
	for tag := range list {
		list[tag].there = true
	}
	for _, note := range ledger {
		what, number, _ := strings.Cut(note, " ")
		tag, _ := strconv.Atoi(number)
		switch s := &list[tag]; what {
		case "deleting":
			s.gone = true
		case "deleted":
			*s = tagState{gone: true}
		case "cancelling":
			s.there = true
		case "cancelled":
			*s = tagState{there: true}
		}
	}
	return list
}

// checkTags opens the store after a crash, and compacts it: that changes nothing.
func checkTags(dir string, ledger []string) error {
	s, err := openAfterCrash(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	may := tagStates(ledger)
	for range 2 {
		var found [cancelTags]int
		for r, err := range s.Query(context.Background(), logstore.Query{}) {
			if err != nil {
				return err
			}
			for tag := range found {
				if string(r.Line) == tagLine(tag) {
					found[tag]++
				}
			}
		}
		for tag, n := range found {
			if n == cancelPlaces && may[tag].there || n == 0 && may[tag].gone {
				may[tag] = tagState{there: n > 0, gone: n == 0}
				continue
			}
			return fmt.Errorf("%d entries of tag %d, which may be %+v, after %q: %w", n, tag, may[tag], ledger, prove.ErrLost)
		}
		if err := s.Compact(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

func TestCancelStates(t *testing.T) {
	if prove.RaceSampled() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	t.Parallel()
	h := prove.RecordMount(t, states.MountOptions{Prepare: prepareTags}, cancelDeletions)
	for _, model := range []states.Model{states.POSIX, states.Journaled} {
		rep := h.CheckDir(states.Options{Max: crashSample(6), Seed: prove.Seed(t), Model: model}, checkTags)
		if t.Log(rep); rep.Err() != nil {
			t.Error(rep)
		}
	}
}

func TestCancelFaults(t *testing.T) {
	if prove.RaceSampled() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	t.Parallel()
	for _, persistent := range []bool{false, true} {
		prove.FaultsMount(t, states.FaultOptions{Prepare: prepareTags, Seed: prove.Seed(t), Max: crashSample(1), Persistent: persistent}, cancelDeletions, checkTags)
	}
}

// Without the syncs of the records, crash states lose a deletion, or that it was cancelled.
func TestCancelMutants(t *testing.T) {
	if prove.RaceSampled() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	t.Parallel()
	h := prove.RecordMount(t, states.MountOptions{Prepare: prepareTags}, cancelDeletions)
	prove.Missed(t, h, states.Options{Max: crashSample(24), Seed: prove.Seed(t)}, checkTags, func(s crashtest.Sync) bool {
		return strings.HasPrefix(s.Path, "wal/") && strings.HasSuffix(s.Path, ".wal")
	})
}

// The check sees a deletion that is half there, and one that came back.
func TestCancelCheckBites(t *testing.T) {
	dir := t.TempDir()
	if err := prepareTags(dir); err != nil {
		t.Fatal(err)
	}
	if err := checkTags(dir, []string{"deleting 1", "deleted 1"}); !errors.Is(err, prove.ErrLost) {
		t.Errorf("of a deletion that is not there: %v", err)
	}
	s, err := logstore.Open(dir, keepingOptions())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Delete(t.Context(), logstore.Deletion{To: markedAt(1)})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := checkTags(dir, nil); !errors.Is(err, prove.ErrLost) {
		t.Errorf("of half a deletion: %v", err)
	}
}
