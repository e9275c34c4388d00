package logstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stele-go/stele/internal/setting"
)

// ImportOptions are the settings of Import.
type ImportOptions struct {
	// Memory is Options.Memory of the store that gets the entries, and of the
	// source while it is read. 0 means 256 MiB each.
	Memory int64
	// Progress, unless nil, is called now and then, never concurrently.
	Progress func(ImportProgress)

	store Options // for tests
}

// An ImportProgress reports the progress of an import.
type ImportProgress struct {
	Source  string // that is being read
	Entries int64  // of it that are in the store
}

// An ImportResult says what became of the entries of a source.
type ImportResult struct {
	Source string
	// Kept entries were appended by this call. Known ones were appended by an
	// earlier one. Refused ones have labels or lines that a store does not take.
	Kept, Known, Refused int64
	// Damage lists places of the source that cannot be read, the first 100 of
	// Damaged. The entries there are not imported.
	Damage  []error
	Damaged int
}

// Import appends the entries of each source to the store in dir, and creates that if
// it does not exist. A source is the directory of a store, which may be damaged or
// have no log; a segment, wherever it lies; or a directory with segments. Sources
// are not changed. Tenants, times, labels and metadata stay, equal lines are kept, and no
// entry is too old or too new.
//
// What a source has that the store has too is there twice afterwards. But an import
// that ended early, or one of a source that has grown, goes on where the last one
// ended: the store remembers how far each source is imported, in dir/imports. A
// source is known by the ID of its log, or else by its content, wherever it lies. It
// must not have changed before that place: an entry that is no longer there is an
// error. After a crash too, each entry is imported once: the batches of an import have
// a source (AppendOptions), so the store knows the one that was under way.
//
// When Import returns, what it has kept survives a power cut. The results are those
// of the sources up to the one with the error. Errors: ErrLocked, if a process has
// the store or a source open; that of ctx; a source that is the store or a copy of
// it, for which errors.Is(err, fs.ErrInvalid) holds; and those of Open,
// OpenReadOnly, Append and Query. Damage of a source is no error.
func Import(ctx context.Context, dir string, o ImportOptions, sources ...string) ([]ImportResult, error) {
	if len(sources) == 0 {
		return nil, setting.Wrong("logstore: Import: sources", 0, "at least 1")
	}
	list, err := importSources(dir, sources)
	if err != nil {
		return nil, fmt.Errorf("logstore: import into %s: %w", dir, err)
	}
	to := o.store
	to.Memory = o.Memory
	to.LateWindow, to.FutureWindow, to.MaxLine, to.MaxStreams, to.MaxTenants = -1, -1, maxLine, math.MaxInt32, math.MaxInt32
	s, err := Open(dir, to)
	if err != nil {
		return nil, err
	}
	results, err := s.importAll(ctx, list, o)
	return results, errors.Join(err, s.Close())
}

// importAll imports each source, and seals what was kept.
func (s *Store) importAll(ctx context.Context, list []importSource, o ImportOptions) (results []ImportResult, err error) {
	select {
	case <-s.Ready():
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := s.replay.failure(); err != nil {
		return nil, s.opError("import into", err)
	}
	kept := int64(0)
	for _, src := range list {
		r, err := s.importFrom(ctx, src, o)
		results = append(results, r)
		if err != nil {
			return results, s.opError("import "+src.path+" into", err)
		}
		kept += r.Kept
	}
	if kept == 0 {
		return results, nil
	}
	return results, s.Seal(ctx)
}

// importFrom imports one source.
func (s *Store) importFrom(ctx context.Context, src importSource, o ImportOptions) (ImportResult, error) {
	r := ImportResult{Source: src.path}
	if err := s.makeImports(); err != nil {
		return r, err
	}
	from, err := src.open(o)
	if err != nil {
		return r, err
	}
	names, err := from.tenantNames(ctx)
	if !slices.Contains(names, "") {
		names = append([]string{""}, names...) // its query tells damage
	}
	before := int64(0) // entries of the tenants before
	for _, name := range names {
		if err != nil {
			break
		}
		m := &importer{to: s, source: src, tenant: name, result: &r, report: func(p ImportProgress) {
			if p.Entries += before; o.Progress != nil {
				o.Progress(p)
			}
		}}
		if err = m.load(); err == nil {
			err = m.run(ctx, from)
		}
		before += int64(m.saved.Entries)
	}
	return r, errors.Join(err, from.Close())
}
