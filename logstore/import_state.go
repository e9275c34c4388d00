package logstore

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/mkdir"
)

const (
	importsDir    = "imports" // in the directory of the store
	importSchema  = "stele.imports/2"
	importSuffix  = ".json"
	importSchema1 = "stele.imports/1" // noted a time up to which all was imported
)

// An importState is what is imported of a log, or of a file without one, for each tenant
// by itself: DIR/imports/ID.json for the tenant "", and with a hash of its name behind ID
// for another one.
//
// What is imported is known by positions, which a segment keeps when it is compacted. So
// it does not matter from which copy, and in which order, the parts of a log came.
type importState struct {
	Schema string `json:"schema"`
	Source string `json:"source"` // where it was first
	Tenant string `json:"tenant,omitempty"`
	// Batches is the source of its batches, see AppendOptions: random, so that a file
	// that was removed means another import. The offset of an entry is its number,
	// from 1.
	Batches string `json:"batches"`
	// Done are the positions of which each entry is imported.
	Done positionSet `json:"done"`
	// Parts are positions of which some entries are imported, no two with the same ones.
	Parts []importPart `json:"parts,omitempty"`
	importPlace
	// Next is the place behind a batch. It is written before the batch is appended, so
	// the store tells which of the two holds after a crash: it has entries beyond
	// Entries in Batches, or not. A batch is one record.
	Next *importPlace `json:"next,omitempty"`
}

// An importPlace is how far an import has come.
type importPlace struct {
	Entries uint64 `json:"entries"` // imported
	// Unit is the part that is being imported. Parts does not have it.
	Unit *importPart `json:"unit,omitempty"`
}

// An importPart is what is known of positions that are not imported completely: damage
// hid some entries, or the import was interrupted.
type importPart struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Whole is the entry up to which all are imported, in the order of queries.
	Whole *Cursor `json:"whole,omitempty"`
	// Damaged is set once something could not be read behind Whole. Then Seen has the
	// entries behind it that are imported. It stays set, as a store may salvage the
	// segment and forget what it had.
	Damaged bool       `json:"damaged,omitempty"`
	Seen    []seenPart `json:"seen,omitempty"`
}

func (p *importPart) positions() PositionRange { return PositionRange{p.First, p.Last} }

// known returns the positions that need not be looked at as new ones.
func (st *importState) known() positionSet {
	all := append([]PositionRange(nil), st.Done...)
	for i := range st.Parts {
		all = append(all, st.Parts[i].positions())
	}
	return union(all)
}

// partsOf returns the parts that have some of the positions.
func (st *importState) partsOf(set positionSet) (parts []importPart) {
	for _, p := range st.Parts {
		if r := p.positions(); set.without(r).count() < r.Last-r.First+1 {
			parts = append(parts, p)
		}
	}
	return parts
}

// finish ends the part that was imported. covered means that the source had all of its
// positions.
func (st *importState) finish(covered bool) {
	p := st.Unit
	st.Unit = nil
	if p.Damaged || !covered {
		st.Parts = append(st.Parts, *p)
		return
	}
	st.Done = union(append(st.Done, p.positions()))
}

// importName returns the name of a state without its suffix.
func importName(id, tenant string) string {
	if tenant == "" {
		return id
	}
	sum := sha256.Sum256([]byte(tenant))
	return id + "-" + hex.EncodeToString(sum[:16])
}

// loadImport reads a state. Without one, nothing is imported.
func loadImport(file, tenant string) (st importState, there bool, err error) {
	st, err = readImport(file)
	if errors.Is(err, fs.ErrNotExist) {
		var random [16]byte
		rand.Read(random[:])
		return importState{Schema: importSchema, Tenant: tenant, Batches: "import:" + hex.EncodeToString(random[:])}, false, nil
	}
	if err == nil && st.Tenant != tenant {
		err = fmt.Errorf("%s: its tenant is %q; want %q", file, st.Tenant, tenant)
	}
	return st, err == nil, err
}

// readImport reads a state.
func readImport(file string) (st importState, err error) {
	p, err := os.ReadFile(file)
	if err != nil {
		return st, err
	}
	if err = json.Unmarshal(p, &st); err == nil && st.Schema != importSchema {
		err = fmt.Errorf("its schema is %q; want %q", st.Schema, importSchema)
	}
	if err != nil {
		return st, fmt.Errorf("%s: %w", file, err)
	}
	return st, nil
}

// settle decides which place holds. there is the offset of the last entry that the store
// has of the batches.
func (st *importState) settle(there uint64) error {
	last := st.Entries
	if st.Next != nil {
		if last = st.Next.Entries; there > st.Entries {
			st.importPlace = *st.Next
		}
		st.Next = nil
	}
	if there > last {
		return fmt.Errorf("it says that %d entries are imported, and the store has %d of them: it is an old copy; bring back the right file, or remove it to import all of the source, again", last, there)
	}
	if st.Unit != nil { // as of a part, from where it was left
		st.Parts = append(st.Parts, *st.Unit)
		st.Unit = nil
	}
	return nil
}

// makeImports makes the directory of the states of imports.
func (s *Store) makeImports() error {
	d, err := mkdir.OpenRoot(s.dir, mkdir.Options{})
	if err != nil {
		return err
	}
	return errors.Join(d.All(importsDir, 0o755), d.Close())
}

// checkImports returns an error if there are states of an earlier version in the store in
// dir: they are named after other identities, so the sources would be imported again.
func checkImports(dir string) error {
	entries, err := os.ReadDir(filepath.Join(dir, importsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), importSuffix) {
			continue
		}
		file := filepath.Join(dir, importsDir, e.Name())
		p, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var st struct {
			Schema string `json:"schema"`
			Source string `json:"source"`
		}
		if json.Unmarshal(p, &st) == nil && st.Schema == importSchema1 {
			return fmt.Errorf("%s is of an earlier version, which noted a time and not which entries of %s are imported: remove the file if you will not import that source again; with it removed, all of the source is imported, again: %w",
				file, st.Source, fs.ErrInvalid)
		}
	}
	return nil
}
