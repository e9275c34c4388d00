package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// An importReader reads a source, or one of its files.
type importReader struct {
	store  *Store
	source *importSource
	file   string // "" unless it is one
	ranges []importRange
	damage []error // beside what queries tell
}

// An importRange is positions of which a source has the entries.
type importRange struct {
	id string // whose positions they are: of a log, or else of the file
	PositionRange
	// damaged is set if some entries of a segment cannot be read and queries do not tell:
	// its index is damaged.
	damaged bool
	term    uint64 // of Last; 0 if it is not known
	rows    int64  // 0 if that is not known
	// lacking is set if the store that imports has the positions, but may lack entries: a
	// damaged segment with them is in its quarantine, or they are of a copy that went on
	// apart.
	lacking bool
	file    string // of the segment
	alone   bool   // it does not say of which log it is
	segment catalog.Holding
}

func (r PositionRange) meets(o PositionRange) bool { return r.First <= o.Last && o.First <= r.Last }

// noSegments opens a catalog without segments.
func noSegments(ctx context.Context, scratch int64, o catalog.Options) (*catalog.Catalog, error) {
	return catalog.OpenFiles(ctx, nil, scratch, o)
}

// find finds out which positions there are.
func (r *importReader) find() error {
	s := r.store
	l, _ := s.log.(*readLog)
	own := logName(l.ID())
	segs := s.catalog.Snapshot()
	defer segs.Release()
	for seg := range segs.Segments() {
		info := seg.Info()
		p := importRange{
			id: cmp.Or(logName(info.Log), own), PositionRange: PositionRange{info.After + 1, info.Upto},
			term: info.Term, rows: info.Rows, file: seg.Path(), alone: info.Log == [16]byte{},
			segment: catalog.HoldingOf(info.After, info.Upto, info.Generation, info),
		}
		if bad := r.salvaged(p.PositionRange); bad != nil {
			p.damaged, p.rows, p.file = true, 0, bad.File
			r.damage = append(r.damage, bad)
		}
		var err error
		if p.id == "" {
			p.id, err = contentID("segment", p.file)
		}
		if err != nil {
			return err
		}
		r.ranges = append(r.ranges, p)
	}
	if own == "" && len(l.intact) > 0 {
		var err error
		if own, err = r.logContent(l); err != nil {
			return err
		}
	}
	contents, _ := s.readContents(context.Background()) // damage is told below
	for _, in := range l.intact.from(s.replay.first) {
		r.ranges = append(r.ranges, importRange{id: own, PositionRange: in, term: contents.terms.at(in.Last)})
	}
	for _, err := range s.lost {
		r.damage = append(r.damage, exportError(err))
	}
	if err := s.replay.failure(); !errors.Is(err, ErrIncomplete) {
		return err
	}
	return nil
}

// logContent returns an identity of a log without an ID.
func (r *importReader) logContent(l *readLog) (string, error) {
	if r.source.kind == ofTail {
		return contentID("tail", l.dir)
	}
	files, err := filepath.Glob(filepath.Join(l.dir, "*"+logSuffix))
	if err == nil && len(files) == 0 {
		err = &fs.PathError{Op: "read", Path: l.dir, Err: fs.ErrNotExist}
	}
	if err != nil {
		return "", err
	}
	return contentID("files", files[0])
}

// salvaged returns why a segment that is served from memory was not read as it is, nil if
// it is served from its file.
func (r *importReader) salvaged(p PositionRange) (why *CorruptError) {
	of := func(e *Event) bool { return r.source.kind == ofSegments || e.After+1 == p.First && e.Upto == p.Last }
	events := r.store.Report().Events
	for i := range events {
		if e := &events[i]; e.Kind == EventSalvage && e.Entries != 0 && of(e) {
			why = &CorruptError{e.File, 0, e.Reason}
		}
	}
	for i := range events {
		if e := &events[i]; why != nil && e.Kind == EventDamage && of(e) {
			return &CorruptError{e.File, e.Offset, e.Reason + "; " + why.Reason}
		}
	}
	return why
}

// ids returns whose positions there are.
func (r *importReader) ids() (list []string) {
	for i := range r.ranges {
		if id := r.ranges[i].id; !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// of returns the ranges of a log.
func (r *importReader) of(id string) (list []importRange) {
	for _, p := range r.ranges {
		if p.id == id {
			list = append(list, p)
		}
	}
	return list
}

// checkAlone returns an error if a segment of version 1 was imported while nothing told
// whose positions it has, and the log tells now. Its entries would be imported again.
// Segments of the log may have been compacted meanwhile, so the path of the source counts
// too.
func (r *importReader) checkAlone(imports string) error {
	if r.source.kind != ofStore || r.store.log.ID() == [16]byte{} {
		return nil
	}
	wrong := func(state string) error {
		return fmt.Errorf("%s, or a segment of it that does not say of which log it is, was imported without the log: its entries would be there twice; import the other segments, or the log, alone; or remove %s to import all, again: %w",
			r.source.path, state, fs.ErrInvalid)
	}
	states, err := filepath.Glob(filepath.Join(imports, "segment-*"+importSuffix))
	if err != nil {
		return err
	}
	for _, file := range states {
		st, err := readImport(file)
		if err != nil {
			return err
		}
		if isSame(st.Source, r.source.path) {
			return wrong(file)
		}
	}
	for i := range r.ranges {
		p := &r.ranges[i]
		if !p.alone || len(states) == 0 {
			continue
		}
		alone, err := contentID("segment", p.file)
		if err != nil {
			return err
		}
		if state := filepath.Join(imports, alone+importSuffix); slices.Contains(states, state) {
			return wrong(state)
		}
	}
	return nil
}

// leaveOut leaves out the positions of the log of the store to that this has already, and
// returns how many entries of segments those are that are not done. A segment alone that is
// of a copy of the store which went on apart has positions of its own: of its entries those
// are left out that the store has at the same positions, from before they parted.
func (r *importReader) leaveOut(to *Store, done map[string]bool) (known int64, err error) {
	id := logName(to.log.ID())
	if !slices.Contains(r.ids(), id) {
		return 0, nil
	}
	held, next, of, err := to.ownPositions()
	if err != nil {
		return 0, err
	}
	terms := of.terms.with(of.first, to.catalog.Holdings(), of.isOther)
	set := quarantined(to.dir)
	var left []importRange
	for _, p := range r.ranges {
		if p.id != id {
			left = append(left, p)
			continue
		}
		if r.source.kind == ofSegments && to.isFork(of, p.segment, next) {
			p.id, p.lacking = fmt.Sprintf("fork-%x-%016x", p.segment.Log, p.segment.Term), true
			left = append(left, p)
			continue
		}
		if err := r.checkFork(to, &p, terms, next); err != nil {
			return 0, err
		}
		lacks := set.without(p.PositionRange).count() < p.Last-p.First+1
		rest := held.without(p.PositionRange)
		if len(rest) == 0 && !lacks && !done[p.file] {
			known += p.rows
		}
		for _, part := range rest {
			q := p
			q.PositionRange = part
			left = append(left, q)
		}
		if !lacks || done[p.file] {
			continue
		}
		for _, part := range rest.without(p.PositionRange) {
			q := p
			q.PositionRange, q.lacking = part, true
			left = append(left, q)
		}
	}
	r.ranges = left
	return known, nil
}

// checkFork returns an error if a range has gone on apart from the store, whose log has these
// terms and ends before position next.
func (r *importReader) checkFork(to *Store, p *importRange, terms logTerms, next uint64) error {
	name := cmp.Or(r.file, r.source.path)
	switch {
	case p.Last >= next:
		return fmt.Errorf("%s is of the log of %s, which ends before position %d, and goes on to %d: they have gone on apart, or one is an old copy; import it into another store: %w",
			name, to.dir, next, p.Last, fs.ErrInvalid)
	case p.term != 0 && terms.at(p.Last) != 0 && terms.at(p.Last) != p.term:
		return fmt.Errorf("%s is of the log of %s, and they have gone on apart before position %d; import it into another store: %w", name, to.dir, p.Last, fs.ErrInvalid)
	}
	return nil
}

// quarantined returns the positions of the segments that are in the quarantine of the
// store in dir, or of which it has a report.
func quarantined(dir string) positionSet {
	entries, err := os.ReadDir(filepath.Join(dir, catalog.QuarantineDir))
	if err != nil {
		return nil
	}
	var all []PositionRange
	for _, e := range entries {
		base, _, _ := strings.Cut(e.Name(), ".")
		if info, ok := catalog.ParseName(base + catalog.SegmentSuffix); ok {
			all = append(all, PositionRange{info.After + 1, info.Upto})
		}
	}
	return union(all)
}

// isFork reports whether a segment with the ID of the log is of a copy of the store that went
// on apart: as Open judges it beside the segments of the store, or as the log, which ends at
// next, never had any of its positions.
func (s *Store) isFork(of *provenance, h catalog.Holding, next uint64) bool {
	if h.After+1 >= next {
		return true
	}
	verdicts, _ := of.judge(append(s.catalog.Holdings(), h))
	return verdicts[len(verdicts)-1].Other
}

// ownPositions returns the positions of its log that the store has, the next one, and what
// the log says of which segments are its own.
func (s *Store) ownPositions() (held positionSet, next uint64, of *provenance, err error) {
	first, next := s.log.Bounds()
	contents, err := s.readContents(context.Background())
	if err != nil {
		return nil, 0, nil, err
	}
	of = contents.provenance(s.dir, s.log.ID(), first, next)
	own, none := s.log.ID(), [16]byte{}
	sealed := slices.DeleteFunc(s.catalog.Holdings(), func(h catalog.Holding) bool { return h.Log != own && h.Log != none })
	all := []PositionRange(positionsOf(sealed))
	if first < next {
		all = append(all, contents.lost.without(PositionRange{first, next - 1})...)
	}
	return union(all), next, of, nil
}
