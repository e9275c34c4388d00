package cmdjob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/internal/measure/strace"
)

// Try runs each command once in a directory of its own below dir, and returns the Spec
// with the promise that its system calls show. A command that fails is an error.
func (s Spec) Try(ctx context.Context, dir string) (Spec, error) {
	tried := s
	tried.Commands = append([]Command(nil), s.Commands...)
	for i := range tried.Commands {
		c := &tried.Commands[i]
		at := filepath.Join(dir, fmt.Sprintf("try-%d", i))
		r, err := s.newRunner(c, at)
		if err != nil {
			return s, err
		}
		got, err := r.traced(ctx, true)
		if err = errors.Join(err, r.close(), os.RemoveAll(at)); errors.Is(err, errors.ErrUnsupported) {
			c.Kept = Kept{Writes: true, Text: "its system calls cannot be seen, so no sync is taken for granted: " + err.Error()}
			continue
		}
		if err != nil {
			return s, fmt.Errorf("cmdjob: command %q: %w", c.Name, err)
		}
		c.Kept = keptBy(&got, at)
		c.Kept.MaxRSS = got.Usage.MaxRSS
	}
	return tried, nil
}

// keptBy words what survives of the writes of a run in dir.
func keptBy(r *strace.Report, dir string) Kept {
	switch {
	case r.Ring:
		return Kept{Writes: true, Text: "uses io_uring, whose requests are not seen, so no sync is taken for granted"}
	case !r.Changed:
		return Kept{Text: "changes no file"}
	case r.Durable():
		return Kept{Writes: true, Synced: true, Text: "syncs each file after its last write; not checked further"}
	case !syncs(r.Calls):
		return Kept{Writes: true, Text: "no sync call seen: survives kill -9, not a power cut"}
	case len(r.Unsynced) > 0:
		return Kept{Writes: true, Text: "syncs, but not all that it writes (" + unsyncedText(r.Unsynced, dir) + "): survives kill -9, not a power cut"}
	}
	return Kept{Writes: true, Text: "syncs, but no directory after it changed names: survives kill -9, not a power cut"}
}

func syncs(calls map[string]int64) bool {
	for _, name := range []string{"fsync", "fdatasync", "sync", "syncfs", "msync"} {
		if calls[name] > 0 {
			return true
		}
	}
	return false
}
