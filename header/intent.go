package header

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"

	"github.com/stele-go/stele/internal/sys"
)

// An intent describes a change in place that is about to be made. It is an extended
// attribute of the file itself: so it follows the file through renames, an fsync of
// the file makes it durable, and the journal of ext4 and XFS never has the change
// without it. It exists from before the change until after it, so a file with an
// intent has an interrupted change, or one that runs under another process's lock.
//
// The value, little-endian, lengths and numbers marked v as uvarints:
//
//	0       4         5      6          14
//	+-------+---------+------+----------+------+----------------------+---------+
//	| magic | version | kind | inode    | body | length v, new record | CRC-32C |
//	+-------+---------+------+----------+------+----------------------+---------+
//
// The CRC covers everything before it. New record is the value of the attribute
// recordName after the change; if it is empty, the attribute is removed.
// The body of insertShift and collapseShift, sizes in bytes:
//
//	block size v, size of the base v, CRC-32C of its first bytes, 1 if blocks are allocated beyond the file's end else 0,
//	number of blocks of the head v, a CRC-32C of each,
//	number of spans of data v, for each: blocks of hole before it v, blocks of data v
//
// (see shiftPlan), and of slotRedo:
//
//	offset v, length v, the new bytes, a CRC-32C of each sector of the old bytes
//
// The inode number reveals a copy of the file with its attributes: the copy may or
// may not have been made in the middle of a change.
const (
	intentName = "user.stele.intent"
	recordName = "user.stele.header"

	intentMagic   = "StlI"
	intentVersion = 1
	intentHead    = len(intentMagic) + 2 + 8
	intentMax     = 64 << 10 // XATTR_SIZE_MAX
)

type intentKind uint8

const (
	// slotRedo overwrites bytes of a slot.
	slotRedo intentKind = 1 + iota
	// insertShift moves the content away from the head and writes the new head.
	insertShift
	// collapseShift removes the head and moves the content there.
	collapseShift
)

// sector is the unit that a disk writes whole or not at all, in bytes.
const sector = 512

type intent struct {
	kind   intentKind
	inode  uint64
	record []byte

	// For slotRedo. Sectors are counted from the beginning of the file, so the
	// first and the last may be partial.
	off  int64
	data []byte
	old  []uint32

	shift shiftPlan // for insertShift and collapseShift
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (in *intent) encode() []byte {
	b := append([]byte(intentMagic), intentVersion, byte(in.kind))
	b = binary.LittleEndian.AppendUint64(b, in.inode)
	if in.kind == slotRedo {
		b = binary.AppendUvarint(b, uint64(in.off))
		b = appendBytes(b, in.data)
		b = appendSums(b, in.old)
	} else {
		b = in.shift.append(b)
	}
	b = appendBytes(b, in.record)
	return binary.LittleEndian.AppendUint32(b, sum(b))
}

func appendBytes(b, data []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

func appendSums(b []byte, sums []uint32) []byte {
	for _, s := range sums {
		b = binary.LittleEndian.AppendUint32(b, s)
	}
	return b
}

var errIntent = errors.New("damaged, or of another version")

func decodeIntent(b []byte) (*intent, error) {
	if len(b) < intentHead+4 || len(b) > intentMax ||
		string(b[:len(intentMagic)]) != intentMagic || b[len(intentMagic)] != intentVersion ||
		sum(b[:len(b)-4]) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return nil, errIntent
	}
	in := &intent{
		kind:  intentKind(b[len(intentMagic)+1]),
		inode: binary.LittleEndian.Uint64(b[intentHead-8:]),
	}
	d := decoder{b: b[intentHead : len(b)-4]}
	switch in.kind {
	case slotRedo:
		in.off = d.size()
		in.data = d.bytes(d.size())
		if !d.bad {
			in.old = d.sums(sectors(in.off, int64(len(in.data))))
		}
	case insertShift, collapseShift:
		in.shift = d.plan()
	default:
		return nil, errIntent
	}
	in.record = d.bytes(d.size())
	if d.bad || len(d.b) > 0 {
		return nil, errIntent
	}
	return in, nil
}

// A decoder decodes values from the front of b. After a bad value all later ones
// are 0.
type decoder struct {
	b   []byte
	bad bool
}

// maxSize is above every valid size and number of blocks; a sum of two does not
// overflow.
const maxSize = 1 << 62

func (d *decoder) size() int64 {
	v, n := binary.Uvarint(d.b)
	if d.bad || n <= 0 || v >= maxSize {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return int64(v)
}

func (d *decoder) bytes(n int64) []byte {
	if d.bad || n > int64(len(d.b)) {
		d.bad = true
		return nil
	}
	var v []byte
	if n > 0 {
		v = d.b[:n:n]
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) sums(n int64) []uint32 {
	if n > int64(len(d.b))/4 {
		d.bad = true
		return nil
	}
	raw := d.bytes(4 * n)
	sums := make([]uint32, len(raw)/4)
	for i := range sums {
		sums[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return sums
}

// sectors returns how many sectors of the file the n bytes at off touch.
func sectors(off, n int64) int64 {
	if n == 0 {
		return 0
	}
	return (off+n-1)/sector - off/sector + 1
}

// sectorSums returns a CRC for each part of data, which lies at off, that is in one
// sector.
func sectorSums(off int64, data []byte) []uint32 {
	var sums []uint32
	for len(data) > 0 {
		n := min(int64(len(data)), sector-off%sector)
		sums = append(sums, sum(data[:n]))
		data, off = data[n:], off+n
	}
	return sums
}

// newSlotRedo returns the intent to overwrite old by data, of the same length, at
// off.
func newSlotRedo(off int64, old, data, record []byte) *intent {
	return &intent{kind: slotRedo, off: off, data: data, old: sectorSums(off, old), record: record}
}

// errNotApplicable is found by errors.Is in the error of a strategy that is not
// possible here and has changed nothing. The error's text says why.
var errNotApplicable = errors.New("not possible here")

type notApplicableError struct {
	why string
	err error // the cause, or nil
}

func (e *notApplicableError) Error() string        { return e.why }
func (e *notApplicableError) Is(target error) bool { return target == errNotApplicable }
func (e *notApplicableError) Unwrap() error        { return e.err }

func notApplicable(why string, err error) error {
	if err != nil {
		why = fmt.Sprintf("%s: %v", why, err)
	}
	return &notApplicableError{why, err}
}

// writeIntent sets the file's intent, with its inode number. It is not durable until
// the file is synced.
func writeIntent(f *os.File, in *intent) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	in.inode = sys.Inode(fi)
	b := in.encode()
	if len(b) > intentMax {
		return notApplicable(fmt.Sprintf("the intent record has %d bytes, and an extended attribute at most %d", len(b), intentMax), nil)
	}
	if err := withFD(f, func(fd int) error { return sys.SetAttr(fd, intentName, b) }); err != nil {
		if sys.NoRoomForAttr(err) {
			return notApplicable(fmt.Sprintf("the intent record of %d bytes does not fit an extended attribute", len(b)), err)
		}
		return &fs.PathError{Op: "write intent", Path: f.Name(), Err: err}
	}
	return nil
}

// getAttr returns an attribute of f.
func getAttr(f *os.File, name string) (value []byte, err error) {
	err = withFD(f, func(fd int) (err error) {
		value, err = sys.GetAttr(fd, name)
		return err
	})
	return value, err
}

// clearIntent removes the file's intent. The removal is durable no later than any
// later change of the file's metadata.
func clearIntent(f *os.File) error {
	if err := sys.RemoveXattr(f, intentName); err != nil && !sys.NoXattr(err) {
		return &fs.PathError{Op: "clear intent", Path: f.Name(), Err: err}
	}
	return nil
}

// readIntent returns the file's intent, and whether it has one. in is nil for an
// intent that was copied with another file's attributes.
func readIntent(f *os.File) (in *intent, found bool, err error) {
	b, err := getAttr(f, intentName)
	if sys.NoXattr(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, &fs.PathError{Op: "read intent", Path: f.Name(), Err: err}
	}
	if in, err = decodeIntent(b); err != nil {
		return nil, true, &DamagedError{Path: f.Name(), Why: "its intent is " + err.Error()}
	}
	fi, err := f.Stat()
	if err != nil {
		return nil, true, err
	}
	if in.inode != sys.Inode(fi) {
		return nil, true, nil
	}
	return in, true, nil
}
