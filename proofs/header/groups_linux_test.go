package header_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// A headedAck says that a file has so many headers.
type headedAck struct {
	name  string
	count int
}

// Files of a group are synced and renamed together, in several directories.
const (
	groupDirs   = 3
	groupFiles  = 8 // in each
	groupRounds = 4
)

func groupNames(dir string) (names []string) {
	for i := range groupDirs {
		for j := range groupFiles {
			names = append(names, filepath.Join(dir, fmt.Sprint("directory", i), fmt.Sprint("file", j)))
		}
	}
	return names
}

func groupBase(name string) []byte { return headText("content of "+filepath.Base(name), 9000) }

func groupHead(round int) []byte { return headText(fmt.Sprint("header ", round), 300+1000*round) }

func prepareGroup(dir string) error {
	var errs []error
	for _, name := range groupNames(dir) {
		errs = append(errs, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, groupBase(name), 0o644))
	}
	return errors.Join(errs...)
}

// insertGroups inserts a header into each of the files, in several rounds.
func insertGroups(level durability.Level) func(dir string, ack func(headedAck)) error {
	return func(dir string, ack func(headedAck)) error {
		for round := 1; round <= groupRounds; round++ {
			head := func(string) ([]byte, error) { return groupHead(round), nil }
			o := header.AllOptions{Options: header.Options{Level: level}, Workers: 2, Report: func(r header.FileResult) {
				if rel, err := filepath.Rel(dir, r.Name); err == nil && r.Err == nil {
					ack(headedAck{rel, round})
				}
			}}
			if _, err := header.InsertAll(context.Background(), slices.Values(groupNames(dir)), head, o); err != nil {
				return err
			}
		}
		return nil
	}
}

// checkGroups checks that each file has the acknowledged headers, and at most one more,
// and that Read returns the last.
func checkGroups(dir string, acked []headedAck) error {
	counts := map[string]int{}
	for _, a := range acked {
		counts[filepath.Join(dir, a.name)] = a.count
	}
	for _, name := range groupNames(dir) {
		if err := checkGrouped(name, counts[name]); err != nil {
			return fmt.Errorf("%s: %w: %w", name, prove.ErrLost, err)
		}
	}
	if len(counts) > groupDirs*groupFiles {
		return fmt.Errorf("acknowledged %v", slices.Sorted(maps.Keys(counts)))
	}
	return nil
}

func checkGrouped(name string, count int) error {
	now, err := lookAt(name)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	want, top := groupBase(name), ""
	for n := 0; n <= count+1; n++ {
		if n > 0 {
			top = string(groupHead(n))
			want = append(groupHead(n), want...)
		}
		if n >= count && bytes.Equal(b, want) {
			if now.top != top {
				return fmt.Errorf("Read returns %.20q with %d headers", now.top, n)
			}
			return nil
		}
	}
	return fmt.Errorf("%d bytes, beginning with %.20q, are not %d headers or one more", len(b), b, count)
}

func TestGroups(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Holds(t, fs, checkGroups, []prove.Case[headedAck]{{Name: "InsertAll", Work: insertGroups(durability.Power), Prepare: prepareGroup}})
		// One directory's sync alone would not do as a mutant: all renames come before
		// the first of them, and so one commit of the journal has them all.
		mutants := []prove.Mutant[headedAck]{
			{Name: "InsertAll at level Kill", Work: insertGroups(durability.Kill), Prepare: prepareGroup},
			{Name: "InsertAll, directories not synced", Work: insertGroups(durability.Power), Prepare: prepareGroup,
				OnSync: prove.Where(crashtest.SkipSync, ofDir)},
		}
		if fs == "btrfs" { // elsewhere the sync of the directory covers the content
			mutants = append(mutants, prove.Mutant[headedAck]{Name: "InsertAll, content not synced", Work: insertGroups(durability.Power),
				Prepare: prepareGroup, OnSync: prove.Where(crashtest.SkipSync, func(s crashtest.Sync) bool { return !ofDir(s) })})
		}
		prove.Mutants(t, fs, checkGroups, mutants)
	})
}

// ofDir reports whether a sync is of one of the directories, which lie side by side.
func ofDir(s crashtest.Sync) bool { return filepath.Dir(s.Path) == "." }
