package logstore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// What nobody can bring back can be given up: then the store is whole again.
func TestRepairAcceptsMissing(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	storeOfParts(t, whole)
	for _, hurt := range []bool{false, true} {
		t.Run(fmt.Sprint("log damaged ", hurt), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			mend := hide(t, segmentOf(t, dir, 1))
			left := 3 * inPart
			if hurt {
				file := walWith(t, dir, "line 500 ")
				flipAt(t, file, indexIn(t, file, "line 500 "))
				left--
			} else if countMissing(t, dir) == 0 {
				t.Error("nothing is missing")
			}
			refused := errors.New("no")
			before := contentOf(t, filepath.Join(dir, logDir))
			o := RepairOptions{AcceptMissing: true, Confirm: func(p *RepairPlan) error {
				if len(p.Missing) != 1 || p.Missing[0].Entries != inPart {
					t.Errorf("missing: %v", p.Missing)
				}
				return refused
			}}
			if _, err := Repair(t.Context(), dir, o); !errors.Is(err, refused) {
				t.Errorf("%v", err)
			}
			if after := contentOf(t, filepath.Join(dir, logDir)); !maps.Equal(after, before) {
				t.Error("refused, and the log is changed")
			}
			o.Confirm = nil
			p, err := Repair(t.Context(), dir, o)
			if err != nil {
				t.Fatal(err)
			}
			report, err := os.ReadFile(p.Accepted)
			if err != nil || !strings.Contains(string(report), p.Missing[0].File) || filepath.Dir(p.Accepted) != filepath.Join(dir, catalog.QuarantineDir) {
				t.Errorf("%v in %s:\n%s", err, p.Accepted, report)
			}
			if hurt != (p.Quarantine != "") {
				t.Errorf("the old log is in %q", p.Quarantine)
			}
			if !hurt {
				isWhole(t, dir)
			}
			if got := len(linesIn(t, dir)); got != left {
				t.Errorf("%d lines; want %d", got, left)
			}
			if p, err := Repair(t.Context(), dir, o); err != nil || p.Accepted != "" {
				t.Errorf("again: %v: %+v", err, p)
			}
			// It may come back all the same.
			mend()
			if got := len(linesIn(t, dir)); got != left+inPart {
				t.Errorf("%d lines; want %d", got, left+inPart)
			}
		})
	}
}

// A store is as it was, or does not expect the segment, wherever the acceptance ends.
func TestRepairAcceptsMissingInSteps(t *testing.T) {
	for _, step := range []string{"report missing", "accept"} {
		dir := filepath.Join(t.TempDir(), "store")
		storeOfParts(t, dir)
		remove(t, segmentOf(t, dir, 1))
		o := RepairOptions{AcceptMissing: true, step: func(name string) error {
			if name == step {
				return errStopped
			}
			return nil
		}}
		if _, err := Repair(t.Context(), dir, o); !errors.Is(err, errStopped) {
			t.Errorf("%s: %v", step, err)
		}
		if countMissing(t, dir) != 1 {
			t.Errorf("%s: nothing is missing", step)
		}
		o.step = nil
		if p, err := Repair(t.Context(), dir, o); err != nil || p.Accepted == "" {
			t.Errorf("%s: %v", step, err)
		}
		isWhole(t, dir)
	}
}
