package segment2

import (
	"encoding/binary"
	"math"
	"slices"
)

// A BatchKey is what a segment remembers of a batch that had a key, and whose
// records are in it.
type BatchKey struct {
	Tenant   string
	Key      [16]byte
	Came     int64  // when the batch came, in seconds since the Unix epoch
	Position uint64 // of the last of its records here
	Handled  int    // entries of the batch up to there; refused ones are counted
	More     bool   // the batch goes on in a record behind
}

// A BatchSource says how far the entries of a source are kept.
type BatchSource struct {
	Tenant, Name string
	Offset       uint64 // of the last one
	Position     uint64 // of its record
}

const (
	// batchKeys and batchSources are how many are in a part, at most.
	batchKeys    = 2048
	batchSources = 512
	// maxSourceName bounds the bytes of the name of a source.
	maxSourceName = 256

	minBatchKey    = 20 // bytes
	minBatchSource = 5
)

// A tenantTable numbers the tenants of a part.
type tenantTable struct{ names []string }

func (t *tenantTable) add(name string) int {
	if n := len(t.names); n > 0 && t.names[n-1] == name {
		return n - 1
	}
	i := slices.Index(t.names, name)
	if i < 0 {
		i = len(t.names)
		t.names = append(t.names, name)
	}
	return i
}

func (t *tenantTable) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(t.names)))
	for _, name := range t.names {
		dst = append(append(dst, byte(len(name))), name...)
	}
	return dst
}

// parse decodes the table of a part with so many items, each of which names one.
func (t *tenantTable) parse(c *decoder, items int) {
	for n := c.atMost(uint64(items)); n > 0; n-- {
		t.names = append(t.names, string(c.take(uint64(c.byte()))))
	}
}

// next decodes the tenant of an item.
func (t *tenantTable) next(c *decoder) string {
	if i := c.uvarint(); i < uint64(len(t.names)) {
		return t.names[i]
	}
	c.fail()
	return ""
}

// appendBatchKeys appends a part of the section keys.
func appendBatchKeys(dst []byte, list []BatchKey) []byte {
	var tenants tenantTable
	numbers := make([]byte, 0, len(list))
	for i := range list {
		numbers = binary.AppendUvarint(numbers, uint64(tenants.add(list[i].Tenant)))
	}
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	dst = append(tenants.append(dst), numbers...)
	came, position := int64(0), uint64(0)
	for i := range list {
		dst = appendZigzag(dst, list[i].Came-came)
		came = list[i].Came
	}
	for i := range list {
		dst = appendZigzag(dst, int64(list[i].Position-position))
		position = list[i].Position
	}
	for i := range list {
		v := uint64(list[i].Handled) << 1
		if list[i].More {
			v |= 1
		}
		dst = binary.AppendUvarint(dst, v)
	}
	for i := range list {
		dst = append(dst, list[i].Key[:]...)
	}
	return dst
}

// parseBatchKeys decodes a part of the section keys into the memory of list.
func parseBatchKeys(list []BatchKey, p []byte) ([]BatchKey, error) {
	c := decoder{p: p}
	n := int(c.atMost(uint64(min(len(p)/minBatchKey, math.MaxInt32))))
	list = slices.Grow(list[:0], n)[:n]
	var tenants tenantTable
	tenants.parse(&c, n)
	for i := range list {
		list[i] = BatchKey{Tenant: tenants.next(&c)}
	}
	came, position := int64(0), uint64(0)
	for i := range list {
		came += c.zigzag()
		list[i].Came = came
	}
	for i := range list {
		position += uint64(c.zigzag())
		list[i].Position = position
	}
	for i := range list {
		v := c.atMost(math.MaxUint32)
		list[i].Handled, list[i].More = int(v>>1), v&1 != 0
	}
	for i := range list {
		copy(list[i].Key[:], c.take(uint64(len(list[i].Key))))
	}
	return list, c.end()
}

// appendBatchSources appends a part of the section sources.
func appendBatchSources(dst []byte, list []BatchSource) []byte {
	var tenants tenantTable
	numbers := make([]byte, 0, len(list))
	for i := range list {
		numbers = binary.AppendUvarint(numbers, uint64(tenants.add(list[i].Tenant)))
	}
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	dst = append(tenants.append(dst), numbers...)
	var names prefixWriter
	for i := range list {
		dst = names.append(dst, []byte(list[i].Name))
	}
	for i := range list {
		dst = binary.AppendUvarint(dst, list[i].Offset)
	}
	for i := range list {
		dst = binary.AppendUvarint(dst, list[i].Position)
	}
	return dst
}

// parseBatchSources decodes a part of the section sources.
func parseBatchSources(p []byte) ([]BatchSource, error) {
	c := decoder{p: p}
	list := make([]BatchSource, c.atMost(uint64(min(len(p)/minBatchSource, batchSources))))
	var tenants tenantTable
	tenants.parse(&c, len(list))
	for i := range list {
		list[i].Tenant = tenants.next(&c)
	}
	var names prefixReader
	for i := range list {
		list[i].Name = string(names.next(&c, maxSourceName))
	}
	for i := range list {
		list[i].Offset = c.uvarint()
	}
	for i := range list {
		list[i].Position = c.uvarint()
	}
	return list, c.end()
}
