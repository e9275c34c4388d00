package column

import (
	"errors"
	"fmt"
)

// A Kind says how the values of a column are kept.
type Kind uint8

const (
	Constant   Kind = 0  // one value for all
	Text       Kind = 1  // texts one after the other
	Dictionary Kind = 2  // distinct values, a column of their own, and which of them each is
	Integer    Kind = 3  // decimal integers of 64 bits
	Hex        Kind = 4  // hexadecimal integers of 64 bits, lower case
	HexUpper   Kind = 5  // the same, upper case
	Decimal    Kind = 6  // decimal fractions
	IPv4       Kind = 7  // IPv4 addresses
	UUID       Kind = 8  // UUIDs, lower case
	HexBytes   Kind = 9  // hexadecimal texts of one length, lower case
	Time       Kind = 10 // times, relative to those of the rows
	Pattern    Kind = 11 // the same literals in all values, between columns of their own
)

var kindNames = [...]string{"constant", "text", "dictionary", "integer", "hex", "upper hex", "decimal", "IPv4", "UUID", "hex bytes", "time", "pattern"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// The first byte of a column: its kind, and flags.
const (
	kindMask  = 1<<5 - 1
	flagWidth = 1 << 5 // integers have at least as many digits as the next byte says
	flagMiss  = 1 << 7 // values that do not fit are in a column of their own
)

// ErrDamaged is wrapped by every error about bytes that are not a column.
var ErrDamaged = errors.New("column: damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

const (
	// MaxCount is the most values of a column.
	MaxCount = 1 << 20

	// maxDepth is how deep columns are within columns.
	maxDepth = 5

	// maxColumns is how many columns a column has within it, itself included. It
	// bounds the memory: each has at most as many values as the whole.
	maxColumns = 32
)
