package logstore

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/mkdir"
	"github.com/stele-go/stele/wal"
)

// logSuffix ends the names of files of the log in quarantine:
//
//	torn-NUMBER-OFFSET.wal   the bytes that Open cut from that offset on of a file
//	unused-NUMBER.wal        a prepared file that was damaged
//
// NUMBER is that of the log's file, OFFSET hexadecimal, 8 digits. A name that is
// taken gets .2, .3 before the suffix. Each has a report beside it. As each crash may add
// one, those without a whole record are bounded: see trim. One with whole records stays
// until a person removes it.
const logSuffix = ".wal"

// A logKeeper keeps in quarantine what the log gives up when it is opened.
type logKeeper struct {
	dir  string // of the store
	tell func(Event)
	now  func() time.Time

	cut *tornTotal

	write func(path string, content []byte) error // for tests; nil is writeWhole
}

// A tornTotal is what Open has cut from the log.
type tornTotal struct{ records, bytes int64 }

// saveTorn keeps a torn tail before the log cuts it. Where a crash came between the
// copy and the cut, the first copy stays: the bytes may be zeros in part by now.
//
// On a full disk, a tail with whole records is an error, which Open returns before it
// has changed anything: what it held may have been acknowledged. One without them held
// nothing that can be read, and a store must open after a crash on a full disk, so that
// is cut without a copy, and told.
func (k *logKeeper) saveTorn(t wal.TornTail, r io.Reader) error {
	base := fmt.Sprintf("torn-%s-%08x", strings.TrimSuffix(filepath.Base(t.File), logSuffix), t.Offset)
	e := Event{
		Kind: EventTornTail, Offset: t.Offset, Bytes: t.Bytes, Position: uint64(t.Position), Records: t.Records,
		Reason: "cut from " + t.File,
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	e.File, err = k.save(base, content, fmt.Sprintf(
		"file:        %s\noffset:      %d\nbytes:       %d\nrecords:     %d, whole, behind one that is not\nposition:    %d is the next one of the log\nquarantined: %s\nwhy:         %s\n",
		t.File, t.Offset, t.Bytes, t.Records, t.Position, k.now().UTC().Format(time.RFC3339),
		"the log ended here with a record that is not whole, as a crash leaves it"))
	if isFull(err) {
		if t.Records > 0 {
			return fmt.Errorf("%d whole records are to be kept in quarantine before they are cut; make %d bytes of space: %w", t.Records, t.Bytes, err)
		}
		e.File, e.Reason, err = "", e.Reason+"; not kept: "+err.Error(), nil
	}
	if err != nil {
		return err
	}
	k.cut.records += int64(t.Records)
	k.cut.bytes += t.Bytes
	k.tell(e)
	k.trim(e.File)
	return nil
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// save writes a file and its report to quarantine, durably, unless it has a copy.
func (k *logKeeper) save(base string, content []byte, report string) (path string, err error) {
	name, err := k.freeName(base, func(path string) bool { return isCopy(path, content) })
	if err != nil {
		return "", err
	}
	path = name + logSuffix
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	write := k.write
	if write == nil {
		write = writeWhole
	}
	if err := write(name+catalog.ReportSuffix, []byte(report)); err != nil {
		return "", err
	}
	return path, write(path, content)
}

// freeName returns the first path for base in quarantine, without the suffix, that
// is not taken, or that ours accepts.
func (k *logKeeper) freeName(base string, ours func(path string) bool) (string, error) {
	dir, err := k.quarantine()
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		name := filepath.Join(dir, base)
		if n > 1 {
			name = fmt.Sprintf("%s.%d", name, n)
		}
		_, err := os.Lstat(name + logSuffix)
		if errors.Is(err, fs.ErrNotExist) || err == nil && ours(name+logSuffix) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// quarantine creates the directory if it is missing, durably.
func (k *logKeeper) quarantine() (dir string, err error) {
	m, err := mkdir.OpenRoot(k.dir, mkdir.Options{})
	if err != nil {
		return "", err
	}
	return filepath.Join(k.dir, catalog.QuarantineDir), errors.Join(m.All(catalog.QuarantineDir, 0o755), m.Close())
}

// isCopy reports whether the file is content from before some of it became zeros.
func isCopy(path string, content []byte) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	was := bufio.NewReaderSize(f, 64<<10)
	for _, b := range content {
		w, err := was.ReadByte()
		if err != nil || b != 0 && b != w {
			return false
		}
	}
	return true
}

// writeWhole writes a file durably. What a crash leaves of it, package catalog
// removes at Open.
func writeWhole(path string, content []byte) error {
	return atomicfile.WriteFileWith(path, content, 0o644, atomicfile.Options{Temp: "*.part"})
}

func syncDir(dir string) error {
	if !sys.CanSyncDir {
		return nil
	}
	d, err := sys.OpenDir(dir, sys.ForSync)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// setAside moves a log file that was prepared and never used.
func (k *logKeeper) setAside(path string) error {
	name, err := k.freeName("unused-"+strings.TrimSuffix(filepath.Base(path), logSuffix), func(string) bool { return false })
	if err != nil {
		return err
	}
	size := int64(0)
	if fi, err := os.Lstat(path); err == nil {
		size = fi.Size()
	}
	if err := os.Rename(path, name+logSuffix); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(name)); err != nil {
		return err
	}
	k.tell(Event{Kind: EventUnusedLog, File: name + logSuffix, Bytes: size, Reason: "it was prepared for the log and never used"})
	k.trim(name + logSuffix)
	return nil
}
