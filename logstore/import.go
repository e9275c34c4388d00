package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
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
	// Kept entries were appended by this call, or are in segments that it put back
	// in their places, of which there are Restored. Known ones were imported by an
	// earlier one, of this or another copy of the log, or are in the store's own log.
	// Refused ones have labels or lines that a store does not take.
	Kept, Known, Refused int64
	Restored             int
	// Damage lists places of the source that cannot be read, the first 100 of
	// Damaged. The entries there are not imported. Each import tells what it finds.
	Damage  []error
	Damaged int
}

// Import appends the entries of each source to the store in dir, and creates that if
// it does not exist. A source is the directory of a store, which may be damaged or
// have no log; that of a log alone, for example one that Repair has moved to
// quarantine; a segment, wherever it lies; a directory with segments; or the torn tail
// of a log in quarantine. Sources are not changed. Tenants, times, labels and metadata
// stay, equal lines are kept, and no entry is too old or too new.
//
// An entry is imported once: the store remembers in dir/imports, for each log, the
// positions whose entries it has got, from whatever copy. So an import that ended
// early goes on where it ended, and one of a source that has grown, or been mended,
// imports exactly what is new or could not be read before, whatever its time. The log
// of a segment is known by the segment; one of version 1, which does not say it, is
// known by its content unless it lies in a store with its log. After a crash
// too, each entry is there once: the batches of an import have a source
// (AppendOptions), so the store knows the one that was under way. Other entries that
// the store has, and a source too, are there twice afterwards: two stores that got
// the same lines have logs of their own.
//
// A segment of the store's own log that it misses (EventMissing) is put back in its
// place, and then the store misses it no longer. The source may be the segment, or a
// directory or a store with it, such as a snapshot. What else the store has of its own
// log counts as Known. Of a segment alone that is of a copy of the store which went on
// apart, all is imported but the entries that the store has at the same positions.
//
// When Import returns, what it has kept survives a power cut. The results are those
// of the sources up to the one with the error. Errors: ErrLocked, if a process has
// the store or a source open; that of ctx; a source that is the store, that is a copy
// of it without a segment that it misses, or a log that has gone on apart from it, for
// which errors.Is(err, fs.ErrInvalid) holds, and so it does for what an earlier
// version has left in dir/imports; ErrMemory; and those of Open, OpenReadOnly, Append
// and Query. Damage of a source is no error.
func Import(ctx context.Context, dir string, o ImportOptions, sources ...string) ([]ImportResult, error) {
	if len(sources) == 0 {
		return nil, setting.Wrong("logstore: Import: sources", 0, "at least 1")
	}
	if err := checkImports(dir); err != nil {
		return nil, fmt.Errorf("logstore: import into %s: %w", dir, err)
	}
	list, err := importSources(dir, sources)
	if err != nil {
		return nil, fmt.Errorf("logstore: import into %s: %w", dir, err)
	}
	back, err := restoreMissing(ctx, dir, list)
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
	results, err := s.importAll(ctx, list, back, o)
	return results, errors.Join(err, s.Close())
}

// importAll imports each source but for what was restored, and seals what was kept.
func (s *Store) importAll(ctx context.Context, list []importSource, back restored, o ImportOptions) (results []ImportResult, err error) {
	select {
	case <-s.Ready():
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := s.replay.failure(); err != nil {
		return nil, s.opError("import into", err)
	}
	appended := int64(0)
	for i := range list {
		r := back.result(&list[i])
		before := r.Kept
		if !list[i].isCopy {
			err = s.importFrom(ctx, &list[i], back.files, o, &r)
		}
		results = append(results, r)
		if err != nil {
			return results, s.opError("import "+r.Source+" into", err)
		}
		appended += r.Kept - before
	}
	if appended == 0 {
		return results, nil
	}
	return results, s.Seal(ctx)
}

// importFrom imports one source, without the files that are done.
func (s *Store) importFrom(ctx context.Context, src *importSource, done map[string]bool, o ImportOptions, result *ImportResult) error {
	if err := s.makeImports(); err != nil {
		return err
	}
	g := &importing{to: s, o: o, result: result, counts: map[string]int64{}}
	return src.open(o, done, func(r *importReader) error { return g.read(ctx, r, done) })
}

// importing is the import of one source.
type importing struct {
	to     *Store
	o      ImportOptions
	result *ImportResult
	counts map[string]int64 // entries of each state, that are imported
}

// read imports what a reader has, but for files that are done.
func (g *importing) read(ctx context.Context, r *importReader, done map[string]bool) error {
	for _, err := range r.damage {
		g.result.damaged(err)
	}
	if err := r.checkAlone(filepath.Join(g.to.dir, importsDir)); err != nil {
		return err
	}
	known, err := r.leaveOut(g.to, done)
	if err != nil {
		return err
	}
	g.result.Known += known
	names, err := r.store.tenantNames(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(names, "") {
		names = append([]string{""}, names...) // its query tells damage
	}
	for _, id := range r.ids() {
		for _, tenant := range names {
			if err := g.state(ctx, r, id, tenant); err != nil {
				return err
			}
		}
	}
	return nil
}

// state imports what a reader has of a tenant and a log.
func (g *importing) state(ctx context.Context, r *importReader, id, tenant string) error {
	m := &importer{to: g.to, from: r, id: id, tenant: tenant, memory: cmp.Or(g.o.Memory, 256<<20), result: g.result}
	m.report = func(n int64) {
		g.counts[m.name()] = n
		if g.o.Progress != nil {
			all := int64(0)
			for _, n := range g.counts {
				all += n
			}
			g.o.Progress(ImportProgress{r.source.path, all})
		}
	}
	if err := m.load(); err != nil {
		return err
	}
	if _, counted := g.counts[m.name()]; !counted {
		g.counts[m.name()] = int64(m.state.Entries)
		g.result.Known += int64(m.state.Entries)
	}
	return m.run(ctx, r.of(id))
}
