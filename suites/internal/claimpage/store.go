// Package claimpage keeps the raw runs behind the verdicts on the published claims, and
// writes the page of verdicts from them alone.
//
// A run is one claim's: its experiments on all file systems, as JSON, compressed, in a file
// named after the claim. So a page can be made claim by claim, and goes on after an
// interruption with the claims that have no run.
package claimpage

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/claims"
)

// A Store is a directory of raw runs.
type Store struct{ Dir string }

// File returns the path of a claim's run.
func (s Store) File(id string) string { return filepath.Join(s.Dir, id+".json.gz") }

// Load returns the run of a claim, or nil if it has none.
func (s Store) Load(id string) (_ *run.Run, err error) {
	f, err := os.Open(s.File(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing is written
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("claimpage: %s: %w", f.Name(), err)
	}
	r, err := run.Read(z)
	if err != nil {
		return nil, fmt.Errorf("claimpage: %s: %w", f.Name(), err)
	}
	return r, nil
}

// Save writes the run of a claim, all or nothing. It leaves out the course of each block over
// time, of which no verdict is made and which is most of a run, and makes paths below the
// current directory relative, as where it lies on a machine is nobody's business.
func (s Store) Save(id string, r *run.Run) error {
	for _, result := range r.Results {
		for i := range result.Blocks {
			result.Blocks[i].Windows = nil
		}
	}
	var text, b bytes.Buffer
	if err := r.Write(&text); err != nil {
		return fmt.Errorf("claimpage: write the run of %s: %w", id, err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = z.Write(bytes.ReplaceAll(text.Bytes(), []byte(filepath.Clean(dir)+"/"), nil))
	if err := errors.Join(err, z.Close()); err != nil {
		return fmt.Errorf("claimpage: write the run of %s: %w", id, err)
	}
	part := s.File(id) + ".part"
	if err := os.WriteFile(part, b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(part, s.File(id))
}

// Complete reports whether a run has a result of every experiment of the claim in every
// place, so that there is nothing to measure again.
func Complete(c *claims.Claim, r *run.Run) bool {
	if r == nil || r.Partial != nil || len(r.Places) == 0 {
		return false
	}
	for _, e := range c.Experiments {
		for _, p := range r.Places {
			if !slices.ContainsFunc(r.Results, func(had *run.Result) bool { return had.ID == e.ID() && had.Place == p.Name }) {
				return false
			}
		}
	}
	return true
}
