package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/mkdir"
	"github.com/stele-go/stele/wal"
)

// A missing segment is put back by a copy of its file, which takes its name once it is
// durable, while no process can open the store. What it has are positions that no other
// segment has, and that the log does not replay, so each of its entries is there once. A
// crash leaves the store as it was, or with the segment.

// A lostSegment is a file with a segment that the store misses.
type lostSegment struct {
	source *importSource
	file   string
	name   catalog.Holding
	exact  bool // the roster has it with just these positions and entries
}

func (l *lostSegment) positions() PositionRange { return PositionRange{l.name.After + 1, l.name.Upto} }

// restored is what was put back.
type restored struct {
	files   map[string]bool
	entries map[*importSource]int64
	counts  map[*importSource]int
}

// result returns the result of a source, as of what was put back of it.
func (r restored) result(src *importSource) ImportResult {
	return ImportResult{Source: src.path, Kept: r.entries[src], Restored: r.counts[src]}
}

// restoreMissing puts back the segments of sources that the store in dir misses. A copy of
// the store that has none of them is an error.
func restoreMissing(ctx context.Context, dir string, list []importSource) (r restored, err error) {
	r = restored{map[string]bool{}, map[*importSource]int64{}, map[*importSource]int{}}
	found, err := findMissing(ctx, dir, list)
	if err != nil {
		return r, err
	}
	for i := range list {
		src := &list[i]
		if src.isCopy && !slices.ContainsFunc(found, func(l lostSegment) bool { return l.source == src }) {
			return r, fmt.Errorf("%s has the log of %s: it is a copy without a segment that %[2]s misses, and its entries would be there twice; want another store: %w",
				src.path, dir, fs.ErrInvalid)
		}
	}
	if len(found) == 0 {
		return r, nil
	}
	lock, err := wal.LockDir(filepath.Join(dir, logDir))
	if err != nil {
		return r, walError(err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if found, err = findMissing(ctx, dir, list); err != nil { // a process may have changed it
		return r, err
	}
	for i := range found {
		l := &found[i]
		if err := l.putBack(ctx, dir); err != nil {
			return r, err
		}
		r.files[l.file] = true
		r.entries[l.source] += l.name.Rows
		r.counts[l.source]++
	}
	return r, nil
}

// findMissing finds the segments of sources that the store in dir misses, no two with the
// same positions.
func findMissing(ctx context.Context, dir string, list []importSource) (found []lostSegment, err error) {
	logs := filepath.Join(dir, logDir)
	own := logOf(dir, logs)
	if own.unread != nil || own.log == [16]byte{} {
		return nil, own.unread
	}
	c, err := compareSegments(dir, logs)
	if err = cmp.Or(err, c.unread); err != nil || len(c.missing) == 0 {
		return nil, err
	}
	imported, err := importedOf(filepath.Join(dir, importsDir), logName(own.log))
	if err != nil {
		return nil, err
	}
	for i := range list {
		files, err := list[i].segments()
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			l := lostSegment{source: &list[i], file: file}
			if ok, err := l.read(own); err != nil {
				return nil, err
			} else if p := l.positions(); ok && l.fits(c.missing) && imported.without(p).count() == p.Last-p.First+1 {
				found = append(found, l)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b lostSegment) int {
		if a.exact != b.exact {
			if a.exact {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.name.Generation, a.name.Generation), cmp.Compare(b.name.Upto-b.name.After, a.name.Upto-a.name.After))
	})
	var taken positionSet
	return slices.DeleteFunc(found, func(l lostSegment) bool {
		p := l.positions()
		if taken.without(p).count() < p.Last-p.First+1 {
			return true
		}
		taken = union(append(taken, p))
		return false
	}), nil
}

// importedOf returns the positions of a log of which entries are imported: a segment with
// some of them must not come back, as its entries are there already.
func importedOf(imports, id string) (positionSet, error) {
	files, err := filepath.Glob(filepath.Join(imports, id+"*"+importSuffix))
	if err != nil {
		return nil, err
	}
	var all []PositionRange
	for _, file := range files {
		st, err := readImport(file)
		if err != nil {
			return nil, err
		}
		all = append(all, st.known()...)
		for _, p := range []*importPlace{&st.importPlace, st.Next} {
			if p != nil && p.Unit != nil {
				all = append(all, p.Unit.positions())
			}
		}
	}
	return union(all), nil
}

// segments returns the segments of a source.
func (s *importSource) segments() ([]string, error) {
	if s.kind != ofStore {
		return s.files, nil
	}
	files, err := segmentFiles(s.path)
	return files, ignoreAbsence(err)
}

func ignoreAbsence(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoStore) {
		return nil
	}
	return err
}

// read reads what the segment is, and reports whether it is a sound one of the log, and not
// of a copy of the store that went on apart.
func (l *lostSegment) read(own *provenance) (bool, error) {
	s, err := InspectSegment(l.file)
	if err != nil {
		return false, nil // the import tells
	}
	info := s.content.info()
	l.name = catalog.HoldingOf(info.After, info.Upto, info.Generation, info)
	_, refused := own.judge([]catalog.Holding{l.name})
	return s.Err == nil && info.Log == own.log && refused == nil, s.Close()
}

// fits reports whether the segment has nothing but what is missing. Of a gap the times are
// not known.
func (l *lostSegment) fits(missing []*MissingError) bool {
	var all []PositionRange
	var around []*MissingError
	for _, m := range missing {
		r := PositionRange{m.After + 1, m.Upto}
		all = append(all, r)
		if r.meets(l.positions()) {
			around = append(around, m)
			l.exact = l.exact || r == l.positions() && (m.Entries < 0 || m.Entries == l.name.Rows)
		}
	}
	if !union(all).has(l.positions()) {
		return false
	}
	from, to := around[0].MinTime, around[0].MaxTime
	for _, m := range around {
		if m.File == "" {
			return true
		}
		from, to = min(from, m.MinTime), max(to, m.MaxTime)
	}
	return from <= l.name.MinTime && l.name.MaxTime <= to
}

// putBack puts the segment in its place in the store in dir. When it returns, it survives a
// power cut there.
func (l *lostSegment) putBack(ctx context.Context, dir string) error {
	m, err := mkdir.OpenRoot(dir, mkdir.Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(m.All(catalog.SegmentDir, 0o755), m.Close()); err != nil {
		return err
	}
	// What a crash leaves of it, package catalog removes at Open.
	o := atomicfile.Options{Temp: "*.part", NoReplace: true}
	return copyDurably(ctx, l.file, filepath.Join(dir, catalog.SegmentDir, l.name.Name()), o)
}

// copyDurably copies a file. When it returns, the copy survives a power cut.
func copyDurably(ctx context.Context, from, to string, o atomicfile.Options) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := atomicfile.Create(to, 0o644, o)
	if err != nil {
		return err
	}
	defer out.Abort()
	if _, err := io.Copy(out, contextReader{ctx, in}); err != nil {
		return fmt.Errorf("copy %s to %s: %w", from, to, err)
	}
	return out.Commit()
}

// A contextReader reads until its context is done.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
