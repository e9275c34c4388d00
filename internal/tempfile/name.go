package tempfile

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/stele-go/stele/internal/sys"
)

// A temporary name holds a tag, which marks it as made by this package and
// identifies the process that writes the file:
//
//	stele-PID-START-NAMESPACE-BOOT-RANDOM-CRC
//
//	PID        of the writer                              base 36
//	START      when it started, clock ticks since boot    base 36
//	NAMESPACE  of its PID and its clock                   base 36
//	BOOT       first half of the boot's id                16 hex digits
//	RANDOM     64 bits                                    base 36
//	CRC        CRC-32C of all before it                   8 hex digits
//
// If the writer cannot identify itself, all but PID are 0. Letters are lower case,
// for file systems that ignore case.

const tagMark = "stele-"

var tagForm = regexp.MustCompile(tagMark + `([0-9a-z]{1,7})-([0-9a-z]{1,13})-([0-9a-z]{1,13})-([0-9a-f]{16})-[0-9a-z]{1,13}-([0-9a-f]{8})`)

// A writer is the process that made a temporary file, as the tag identifies it.
type writer struct {
	pid              int
	start, namespace uint64
	boot             string
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// thisWriter returns this process. It is looked up once.
var thisWriter = sync.OnceValues(func() (writer, error) {
	p, err := sys.ThisProcess()
	if err != nil {
		return writer{}, err
	}
	return writerOf(p)
})

var bootForm = regexp.MustCompile(`^[0-9a-f]{16}`)

// writerOf returns an error if the boot id does not fit a tag: a sandbox's kernel
// may return anything.
func writerOf(p sys.Process) (writer, error) {
	boot := bootForm.FindString(p.Boot)
	if boot == "" {
		return writer{}, fmt.Errorf("the boot's id is %q; want 32 hex digits", p.Boot)
	}
	return writer{pid: p.PID, start: p.Start, namespace: p.Namespace, boot: boot}, nil
}

// unknownWriter is a process that cannot identify itself.
var unknownWriter = writer{boot: strings.Repeat("0", 16)}

// DefaultPattern is the pattern of packages whose callers choose none.
const DefaultPattern = ".*.tmp"

// Warm looks up this process now rather than in the first Name.
func Warm() { thisWriter() }

// Is reports whether name holds a tag.
func Is(name string) bool {
	_, ok := parse(name)
	return ok
}

// Name returns pattern with the "*" replaced by a new tag, about 80 bytes.
func Name(pattern string) string {
	w, err := thisWriter()
	if err != nil {
		w = unknownWriter
		w.pid = os.Getpid()
	}
	before, after, _ := strings.Cut(pattern, "*")
	return before + w.tag(rand.Uint64()) + after
}

func (w writer) tag(random uint64) string {
	b := make([]byte, 0, 96)
	b = append(b, tagMark...)
	for _, n := range []uint64{uint64(w.pid), w.start, w.namespace} {
		b = strconv.AppendUint(b, n, 36)
		b = append(b, '-')
	}
	b = append(b, w.boot...)
	b = append(b, '-')
	b = strconv.AppendUint(b, random, 36)
	b = append(b, '-')
	return string(fmt.Appendf(b, "%08x", crc32.Checksum(b, castagnoli)))
}

// parse finds the tag in a file's name.
func parse(name string) (writer, bool) {
	m := tagForm.FindStringSubmatch(name)
	if m == nil {
		return writer{}, false
	}
	body := m[0][:len(m[0])-8]
	crc, err := strconv.ParseUint(m[5], 16, 32)
	if err != nil || uint32(crc) != crc32.Checksum([]byte(body), castagnoli) {
		return writer{}, false
	}
	pid, err1 := strconv.ParseInt(m[1], 36, 32)
	start, err2 := strconv.ParseUint(m[2], 36, 64)
	namespace, err3 := strconv.ParseUint(m[3], 36, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return writer{}, false
	}
	return writer{pid: int(pid), start: start, namespace: namespace, boot: m[4]}, true
}
