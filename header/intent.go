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

// An intent says what a change in place is about to do. It is an extended
// attribute of the file itself: so it follows the file through renames, an
// fsync of the file makes it durable, and the journal of ext4 and XFS never
// has the change without it. It is there from before the change until after
// it; whoever finds one finds an interrupted change, or one that is going on
// under another's lock.
//
// The value, little-endian, lengths and numbers marked v as uvarints:
//
//	0       4         5      6          14
//	+-------+---------+------+----------+------+----------------------+---------+
//	| magic | version | kind | inode    | body | length v, new record | CRC-32C |
//	+-------+---------+------+----------+------+----------------------+---------+
//
// The CRC is of all before it. New record is the value of the attribute
// recordName once the change is done; empty, the attribute is then removed.
// The body of insertShift and collapseShift, sizes in bytes:
//
//	block size v, size of the base v, CRC-32C of its first bytes, 1 if room is ahead else 0,
//	number of blocks of the head v, a CRC-32C of each,
//	number of spans of data v, for each: blocks of hole before it v, blocks of data v
//
// (see shiftPlan), and of slotRedo:
//
//	offset v, length v, the new bytes, a CRC-32C of each sector of the old bytes
//
// The inode number tells a file that was copied with its attributes: such a
// file was read in the middle of a change or not, and nothing can be said.
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
	// slotRedo: bytes are written over a slot.
	slotRedo intentKind = 1 + iota
	// insertShift: the content moves away from the head, and the room is filled.
	insertShift
	// collapseShift: the head goes, and the content moves there.
	collapseShift
)

// sector is what a disk writes whole or not at all, in bytes.
const sector = 512

type intent struct {
	kind   intentKind
	inode  uint64
	record []byte

	// slotRedo. Sectors are counted from the head of the file, so that the
	// first and the last may be parts of one.
	off  int64
	data []byte
	old  []uint32

	shift shiftPlan // insertShift and collapseShift
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

var errIntent = errors.New("not an intent of this version, or a damaged one")

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

// A decoder takes values off b. Once one is bad, all later ones are 0.
type decoder struct {
	b   []byte
	bad bool
}

// maxSize is beyond what any size, or number of blocks, may be: a sum of two
// still is no overflow.
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

// sectors is how many sectors of the file the n bytes at off touch.
func sectors(off, n int64) int64 {
	if n == 0 {
		return 0
	}
	return (off+n-1)/sector - off/sector + 1
}

// sectorSums are the CRCs of the parts of data, which lies at off, that are in
// one sector each.
func sectorSums(off int64, data []byte) []uint32 {
	var sums []uint32
	for len(data) > 0 {
		n := min(int64(len(data)), sector-off%sector)
		sums = append(sums, sum(data[:n]))
		data, off = data[n:], off+n
	}
	return sums
}

// newSlotRedo is the intent to write data over old, of the same length, at off.
func newSlotRedo(off int64, old, data, record []byte) *intent {
	return &intent{kind: slotRedo, off: off, data: data, old: sectorSums(off, old), record: record}
}

// errUnsuited is what errors.Is finds in the error of a way that cannot be
// taken here, and has changed nothing. The error's text says why.
var errUnsuited = errors.New("this way cannot be taken here")

type unsuitedError struct {
	why string
	err error // the cause, or nil
}

func (e *unsuitedError) Error() string        { return e.why }
func (e *unsuitedError) Is(target error) bool { return target == errUnsuited }
func (e *unsuitedError) Unwrap() error        { return e.err }

func unsuited(why string, err error) error {
	if err != nil {
		why = fmt.Sprintf("%s: %v", why, err)
	}
	return &unsuitedError{why, err}
}

// writeIntent gives the file an intent, with the file's inode number. It is
// not durable before the file is synced.
func writeIntent(f *os.File, in *intent) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	in.inode = sys.Inode(fi)
	b := in.encode()
	if len(b) > intentMax {
		return unsuited(fmt.Sprintf("what Recover would need takes %d bytes, and an extended attribute at most %d", len(b), intentMax), nil)
	}
	if err := withFD(f, func(fd int) error { return sys.SetAttr(fd, intentName, b) }); err != nil {
		if sys.NoRoomForAttr(err) {
			return unsuited(fmt.Sprintf("what Recover would need, %d bytes, cannot be kept as an extended attribute", len(b)), err)
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

// clearIntent removes the file's intent. That is durable no later than any
// later change of the file's metadata.
func clearIntent(f *os.File) error {
	if err := sys.RemoveXattr(f, intentName); err != nil && !sys.NoXattr(err) {
		return &fs.PathError{Op: "clear intent", Path: f.Name(), Err: err}
	}
	return nil
}

// readIntent returns the file's intent, and whether it has one. One that came
// with a copy of another file is nil.
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
