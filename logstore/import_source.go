package logstore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
)

// An importSource is where entries are imported from.
type importSource struct {
	path  string
	id    string   // of its content, wherever it lies
	files []string // its segments; none: it is a store
}

// importSources looks at each source of an import into dir.
func importSources(dir string, paths []string) (list []importSource, err error) {
	for _, path := range paths {
		src := importSource{path: path}
		fi, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, err
		case isSame(path, dir), isSame(path, filepath.Join(dir, catalog.SegmentDir)), isSame(filepath.Dir(path), filepath.Join(dir, catalog.SegmentDir)):
			return nil, fmt.Errorf("%s is the store itself; want another one: %w", path, fs.ErrInvalid)
		case fi.IsDir():
			err = src.directory(dir)
		case fi.Mode().IsRegular():
			src.files = []string{path}
			src.id, err = contentID(path)
		default:
			err = fmt.Errorf("%s is %s; want a store or a segment: %w", path, sys.KindOf(fi.Mode().Type()), fs.ErrInvalid)
		}
		if err != nil {
			return nil, err
		}
		for _, other := range list {
			if other.id == src.id {
				return nil, fmt.Errorf("%s and %s are the same; want each source once: %w", other.path, path, fs.ErrInvalid)
			}
		}
		list = append(list, src)
	}
	return list, nil
}

func isSame(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// directory is for a source that is a directory: a store, or one with segments.
func (s *importSource) directory(to string) error {
	segments, err := filepath.Glob(filepath.Join(s.path, "*"+catalog.SegmentSuffix))
	if err != nil {
		return err
	}
	sub := filepath.Join(s.path, catalog.SegmentDir)
	if isStore(s.path) {
		if s.id, err = logID(s.path); err != nil || s.id != "" {
			own, ownErr := logID(to)
			if err == nil && ownErr == nil && own == s.id {
				err = fmt.Errorf("%s has the log of %s: it is a copy, and its entries would be there twice; want another store, or segments of it that %s does not have: %w",
					s.path, to, to, fs.ErrInvalid)
			}
			return err
		}
		if segments, err = segmentFiles(s.path); err != nil {
			return err
		}
	} else {
		s.files, sub = segments, s.path
	}
	if len(segments) == 0 {
		return fmt.Errorf("%s: %w", sub, errNoStore)
	}
	s.id, err = contentID(segments...)
	return err
}

// isStore reports whether a directory is that of a store.
func isStore(dir string) bool {
	for _, name := range []string{catalog.SegmentDir, logDir} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err == nil && fi.IsDir() {
			return true
		}
	}
	return false
}

// logID returns an identity of the log of a store, "" if it has none that can be
// read.
func logID(dir string) (string, error) {
	in, err := wal.Inspect(filepath.Join(dir, logDir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if raw, err := hex.DecodeString(in.ID); err != nil || len(raw) != 16 || [16]byte(raw) == [16]byte{} {
		return "", nil
	}
	return "log-" + in.ID, nil
}

// contentID returns an identity of segments: their sizes, beginnings and ends, which
// have random numbers.
func contentID(files ...string) (string, error) {
	const part = 64 << 10
	h := sha256.New()
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		fi, err := f.Stat()
		if err == nil {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(fi.Size())))
			_, err = io.Copy(h, io.NewSectionReader(f, 0, part))
		}
		if err == nil {
			_, err = io.Copy(h, io.NewSectionReader(f, max(0, fi.Size()-part), part))
		}
		f.Close()
		if err != nil {
			return "", err
		}
	}
	return "segment-" + hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// open opens the source for reading.
func (s *importSource) open(o ImportOptions) (*Store, error) {
	from := Options{Memory: o.Memory}
	if len(s.files) > 0 {
		return OpenSegments(from, s.files...)
	}
	return OpenReadOnly(s.path, from)
}
