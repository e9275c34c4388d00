package wal

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/stele-go/stele/internal/sys"
)

const (
	metaSlotSize = 512  // bytes of a slot, a sector, which is written at once
	metaApart    = 4096 // bytes from slot to slot: some disks rewrite a block of 4,096 for one sector
	metaSize     = 2 * metaApart
	metaSum      = 64 // offset of the checksum in a slot
)

// A meta is the content of META. After a write both slots hold it, so that
// either is enough.
type meta struct {
	id [16]byte // of the log
	// sequence grows with each write. At 1 the log is being created and may
	// have no segment.
	sequence uint64
	first    Position // the records before it are discarded
	segment  uint64   // number of the first segment of the log
	// next is the position that the log had durably reached when it was last
	// opened, truncated or closed. A log that ends before it is damaged.
	next Position
}

func newMeta() meta {
	m := meta{sequence: 1, first: 1, segment: 1, next: 1}
	rand.Read(m.id[:]) // never fails
	return m
}

func (m meta) encode() []byte {
	b := make([]byte, metaSlotSize)
	copy(b, metaMagic)
	binary.LittleEndian.PutUint32(b[8:], version)
	copy(b[16:], m.id[:])
	binary.LittleEndian.PutUint64(b[32:], m.sequence)
	binary.LittleEndian.PutUint64(b[40:], uint64(m.first))
	binary.LittleEndian.PutUint64(b[48:], m.segment)
	binary.LittleEndian.PutUint64(b[56:], uint64(m.next))
	binary.LittleEndian.PutUint32(b[metaSum:], sumOf(b[:metaSum]))
	return b
}

// decodeMeta decodes one slot. The reason is "" if the slot is valid.
func decodeMeta(b []byte) (m meta, v uint32, reason string) {
	if len(b) < metaSlotSize {
		return meta{}, 0, "it is too short"
	}
	if string(b[:len(metaMagic)]) != metaMagic {
		return meta{}, 0, "it does not begin with " + metaMagic
	}
	if binary.LittleEndian.Uint32(b[metaSum:]) != sumOf(b[:metaSum]) {
		return meta{}, 0, "its checksum is wrong"
	}
	if v = binary.LittleEndian.Uint32(b[8:]); v != version {
		return meta{}, v, ""
	}
	m = meta{
		id:       [16]byte(b[16:32]),
		sequence: binary.LittleEndian.Uint64(b[32:]),
		first:    Position(binary.LittleEndian.Uint64(b[40:])),
		segment:  binary.LittleEndian.Uint64(b[48:]),
		next:     Position(binary.LittleEndian.Uint64(b[56:])),
	}
	if m.sequence == 0 || m.first == 0 || m.segment == 0 || m.next < m.first {
		return meta{}, v, "it holds numbers that are never written"
	}
	return m, v, ""
}

// readMeta reads META. slot is the one to be written first: the damaged one if
// degraded, else the older one.
func readMeta(f *os.File, path string) (m meta, slot int, degraded bool, err error) {
	b := make([]byte, metaSize)
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return meta{}, 0, false, fmt.Errorf("wal: %w", err)
	}
	return parseMeta(b[:n], path)
}

// parseMeta is readMeta of the file's bytes.
func parseMeta(b []byte, path string) (m meta, slot int, degraded bool, err error) {
	var reasons [2]string
	var slots [2]meta
	for i := range slots {
		var v uint32
		slots[i], v, reasons[i] = decodeMeta(b[min(i*metaApart, len(b)):])
		if reasons[i] == "" && v != version {
			return meta{}, 0, false, &VersionError{File: path, Version: v}
		}
	}
	switch {
	case reasons[0] != "" && reasons[1] != "":
		return meta{}, 0, false, &CorruptError{File: path, Reason: "slot 0: " + reasons[0] + "; slot 1: " + reasons[1]}
	case reasons[0] != "":
		return slots[1], 0, true, nil
	case reasons[1] != "":
		return slots[0], 1, true, nil
	case slots[0].id != slots[1].id:
		return meta{}, 0, false, &CorruptError{File: path, Offset: metaApart, Reason: "the slots are of two logs"}
	case slots[0].sequence < slots[1].sequence:
		return slots[1], 0, false, nil
	}
	return slots[0], 1, false, nil
}

// writeMeta writes m into both slots, first into slot, so that one is valid at
// any time. When it returns, m survives a power cut and the loss of one slot. A
// crash during it leaves the old META or the new.
func writeMeta(f *os.File, m meta, slot int) error {
	b := m.encode()
	for _, i := range []int{slot, 1 - slot} {
		if _, err := f.WriteAt(b, int64(i*metaApart)); err != nil {
			return fmt.Errorf("wal: %w", err)
		}
		if err := sys.SyncData(f); err != nil {
			return pathError("fdatasync", f.Name(), err)
		}
	}
	return nil
}

// metaFile returns the content of a new META.
func metaFile(m meta) []byte {
	b := make([]byte, metaSize)
	copy(b, m.encode())
	copy(b[metaApart:], b[:metaSlotSize])
	return b
}

func errNoMeta(path string) error {
	return &CorruptError{File: path, Reason: "the file is missing beside segments"}
}
