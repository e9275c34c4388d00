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
	"regexp"
	"strconv"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
)

// An importKind is what a source is.
type importKind int

const (
	ofStore    importKind = iota // the directory of a store
	ofLog                        // that of a log alone
	ofSegments                   // segments
	ofTail                       // a torn tail of a log
)

// An importSource is where entries are imported from.
type importSource struct {
	path  string
	kind  importKind
	files []string // ofSegments
	// isCopy reports a store with the log of the one that gets the entries. All that
	// it may give are segments that are missing there.
	isCopy bool
	offset int64 // ofTail: in the log file
}

// importSources looks at each source of an import into dir.
func importSources(dir string, paths []string) (list []importSource, err error) {
	for i, path := range paths {
		src := importSource{path: path}
		fi, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, err
		case isSame(path, dir), isSame(path, filepath.Join(dir, catalog.SegmentDir)), isSame(filepath.Dir(path), filepath.Join(dir, catalog.SegmentDir)), isSame(path, filepath.Join(dir, logDir)):
			return nil, fmt.Errorf("%s is the store itself; want another one: %w", path, fs.ErrInvalid)
		case fi.IsDir():
			err = src.directory(dir)
		case fi.Mode().IsRegular():
			err = src.file()
		default:
			err = fmt.Errorf("%s is %s; want a store, a log or a segment: %w", path, sys.KindOf(fi.Mode().Type()), fs.ErrInvalid)
		}
		if err != nil {
			return nil, err
		}
		for _, other := range paths[:i] {
			if isSame(other, path) {
				return nil, fmt.Errorf("%s and %s are the same; want each source once: %w", other, path, fs.ErrInvalid)
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

// directory is for a source that is a directory: a store, a log, or one with segments.
func (s *importSource) directory(to string) (err error) {
	if isStore(s.path) {
		id, own := logOf(s.path, filepath.Join(s.path, logDir)).log, logOf(to, filepath.Join(to, logDir)).log
		s.isCopy = id == own && id != [16]byte{}
		return nil
	}
	s.kind = ofSegments
	if s.files, err = filepath.Glob(filepath.Join(s.path, "*"+catalog.SegmentSuffix)); err != nil {
		return err
	}
	if len(s.files) > 0 {
		return nil
	}
	if _, err = wal.Inspect(s.path); err == nil {
		s.kind = ofLog
		return walError(wal.Locked(s.path))
	}
	return fmt.Errorf("%s: %w, nor a log, nor a segment", s.path, errNoStore)
}

// tornName is the name of a torn tail in quarantine; see logSuffix.
var tornName = regexp.MustCompile(`^torn-[0-9]{16}-([0-9a-f]{8,})(\.[0-9]+)?\.wal$`)

// file is for a source that is a file.
func (s *importSource) file() (err error) {
	name := filepath.Base(s.path)
	if filepath.Ext(name) != logSuffix {
		s.kind, s.files = ofSegments, []string{s.path}
		return nil
	}
	s.kind = ofTail
	match := tornName.FindStringSubmatch(name)
	if match == nil {
		return fmt.Errorf("%s is a file of a log; want the directory of the log, or a torn tail under the name that quarantine gives it, torn-NUMBER-OFFSET%s: %w", s.path, logSuffix, fs.ErrInvalid)
	}
	s.offset, err = strconv.ParseInt(match[1], 16, 64)
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

// logName names the entries of a log, "" if its ID is not known.
func logName(id [16]byte) string {
	if id == [16]byte{} {
		return ""
	}
	return "log-" + hex.EncodeToString(id[:])
}

// contentID returns an identity of a file that no log has: of its size, beginning and
// end, which have random numbers.
func contentID(kind, file string) (string, error) {
	const part = 64 << 10
	h := sha256.New()
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
	return kind + "-" + hex.EncodeToString(h.Sum(nil)[:16]), errors.Join(err, f.Close())
}

// open calls f with each reader of the source, one after the other.
func (s *importSource) open(o ImportOptions, done map[string]bool, f func(*importReader) error) error {
	from := Options{Memory: o.Memory}
	read := func(file string, open func() (*Store, error)) error {
		store, err := open()
		if err != nil {
			return err
		}
		r := &importReader{store: store, source: s, file: file}
		err = r.find()
		if err == nil {
			err = f(r)
		}
		return errors.Join(err, store.Close())
	}
	switch s.kind {
	case ofStore:
		return read("", func() (*Store, error) { return OpenReadOnly(s.path, from) })
	case ofLog:
		return read("", func() (*Store, error) { return openLogAlone(s.path, from, openReadLog(s.path)) })
	case ofTail:
		return read(s.path, func() (*Store, error) { return openLogAlone(s.path, from, openReadTail(s.path, s.offset)) })
	}
	for _, file := range s.files {
		if done[file] {
			continue
		}
		if err := read(file, func() (*Store, error) { return OpenSegments(from, file) }); err != nil {
			return err
		}
	}
	return nil
}

// openLogAlone opens a log that no segments belong to.
func openLogAlone(path string, o Options, l *readLog) (*Store, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	l.alone = true
	s, err := openReading(path, o, l, noSegments)
	if err != nil {
		return nil, fmt.Errorf("logstore: open %s for reading: %w", path, err)
	}
	return s, nil
}
