package logstore_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A fileState holds the properties of a file that a write changes.
type fileState struct {
	name     string
	size     int64
	modified time.Time
}

func filesBelow(dir string) (list []fileState, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			rel, _ := filepath.Rel(dir, name)
			list = append(list, fileState{rel, info.Size(), info.ModTime()})
		}
		return err
	})
	return list, err
}

// copyQuiet copies the directory of an open store at a moment when nothing is
// written. The steps before are over, so background work comes to an end.
func copyQuiet(dst, src string) error {
	const still = 20 * time.Millisecond // more than a tick of the clock of a file system
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; time.Sleep(still) {
		before, err := filesBelow(src)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		newest := slices.MaxFunc(before, func(a, b fileState) int { return a.modified.Compare(b.modified) })
		if time.Since(newest.modified) < still {
			continue
		}
		err = os.CopyFS(dst, os.DirFS(src))
		after, again := filesBelow(src)
		if err == nil && again == nil && slices.Equal(before, after) {
			return nil
		}
		if err := os.RemoveAll(dst); err != nil {
			return err
		}
	}
	return errors.New("the store writes for minutes though nothing is asked of it")
}

// segments returns the names of the store's segments.
func (m *model) segments() ([]string, error) {
	return filepath.Glob(filepath.Join(m.dir, "segments", "*.seg"))
}

// damage flips a bit. From then on the entries of the block that has it may be
// lost, and no others; if no block has it, those of the whole segment.
func (m *model) damage(d damageStep) error {
	names, err := m.segments()
	if err != nil || len(names) == 0 {
		return err
	}
	slices.Sort(names)
	f, err := os.OpenFile(names[d.segment*len(names)/1000], os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // merged or retired since
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at := int64(d.place) * info.Size() / 1000
	lost, err := rowsAround(f, info.Size(), at)
	if err != nil {
		if m.damaged {
			return nil // it has been damaged before
		}
		return err
	}
	m.damaged = true
	for i, e := range m.ref.entries {
		if slices.ContainsFunc(lost, e.same) {
			m.ref.entries[i].unsure = true
		}
	}
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return err
	}
	b[0] ^= 1 << d.bit
	_, err = f.WriteAt(b[:], at)
	return err
}

// rowsAround returns the entries of the block that has the byte, or of all
// blocks.
func rowsAround(f *os.File, size, at int64) (list []refEntry, err error) {
	index, err := indexOf(f, size)
	if err != nil {
		return nil, err
	}
	zones, err := index.Zones(context.Background())
	if err != nil {
		return nil, err
	}
	for i, z := range zones {
		g, err := index.Group(context.Background(), i)
		if err != nil {
			return nil, err
		}
		for n := z.First; n < z.First+z.Blocks; n++ {
			rows, err := rowsOf(index, g, n)
			if err != nil {
				return nil, err
			}
			if b := g.Block(n); at >= b.Offset && at < b.Offset+b.Bytes {
				return rows, nil
			}
			list = append(list, rows...)
		}
	}
	return list, nil
}

// indexOf opens a segment of any version.
func indexOf(f *os.File, size int64) (segment2.Index, error) {
	card, err := segment2.OpenCard(f, size)
	if v, ok := errors.AsType[*segment2.VersionError](err); ok && v.Version == 1 {
		s, err := segment.Open(f, size)
		if err != nil {
			return nil, err
		}
		return s.Index(nil), nil
	}
	if err != nil {
		return nil, err
	}
	return card.Index(f, nil), nil
}

// rowsOf returns the entries of a block.
func rowsOf(index segment2.Index, g *segment2.Group, n int) (list []refEntry, err error) {
	var f segment2.Frame
	if err := index.ReadFrame(context.Background(), &f, g, n); err != nil {
		return nil, err
	}
	var d block.Decoder
	dictionary, err := index.Dictionary(context.Background(), f.Dictionary)
	if err != nil {
		return nil, err
	}
	times, err := d.Decode(f.Block, dictionary)
	if err != nil {
		return nil, err
	}
	for _, r := range f.Runs {
		chunk, err := index.ChunkOf(context.Background(), r.Ordinal)
		if err != nil {
			return nil, err
		}
		c, err := index.Labels(context.Background(), chunk)
		if err != nil {
			return nil, err
		}
		labels, err := logstore.DecodeLabels(c.Of(r.Ordinal))
		if err != nil {
			return nil, err
		}
		for i := int(r.First); i < int(r.First+r.Rows); i++ {
			metadata, err := logstore.DecodeLabels(string(d.Meta(i)))
			if err != nil {
				return nil, err
			}
			list = append(list, refEntry{labels: labels, time: times[i], line: string(d.Line(i)), metadata: metadata})
		}
	}
	return list, nil
}
