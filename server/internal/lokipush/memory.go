package lokipush

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/stele-go/stele/logstore"
)

// An Account is charged for the memory of a push that is being decoded. A body of a few
// bytes can have a million entries.
type Account interface {
	// Charge takes so many bytes until the push has ended. Its error ends the decoding.
	Charge(bytes int64) error
}

const (
	// EntryBytes is how much memory a decoded entry takes beside the body, without its metadata.
	EntryBytes = int64(unsafe.Sizeof(logstore.Entry{}) + unsafe.Sizeof(uint64(0)))
	// streamBytes is that of a stream beside its labels, and metadataBytes that of metadata
	// beside their text.
	streamBytes   = int64(unsafe.Sizeof(span{}) + unsafe.Sizeof(logstore.Stream{}))
	metadataBytes = 48
)

const (
	// firstEntries is for how many entries room is made first.
	firstEntries = 128
	// freeBytes are not charged, so that a small push takes no turn at the account.
	freeBytes = firstEntries*EntryBytes + 4<<10
	// chargedBytes is how much is charged at once, at least.
	chargedBytes = 64 << 10
)

// A ledger charges an account in large steps.
type ledger struct {
	account Account
	spare   int64 // bytes that are charged, or free, and not used
}

// errMemory is what the errors of take wrap.
var errMemory = errors.New("no memory for the entries of the push")

func (l *ledger) take(n int64) error {
	if l.spare -= n; l.spare >= 0 || l.account == nil {
		return nil
	}
	more := max(-l.spare, chargedBytes)
	if err := l.account.Charge(more); err != nil {
		return fmt.Errorf("%w: %w", errMemory, err)
	}
	l.spare += more
	return nil
}
