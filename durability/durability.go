// Package durability is Stele's vocabulary for what survives what.
//
// Every function of Stele that writes states a [Level], which crash the
// write survives once the function has returned, and an [After], what a crash
// in the middle of it leaves behind. Every variant the lab measures carries
// both, because a speed without them says nothing.
//
// # Mistakes to avoid
//
//   - Comparing levels with < for "safer": Power is 0, and the safest.
//   - Taking Power for more than one machine: it says that the device has the
//     write, and nothing of a device that is lost.
//   - Testing Power by kill -9: the kernel keeps what was written without a
//     sync too. It takes a power cut, such as package crashtest makes.
//   - Taking a finished write's Level for what a crash in the middle of it
//     leaves: that is its After, and at level Power may be Torn all the same.
//   - Asking for None to be fast. A package whose writes are in the kernel at
//     once (mkdir, newfile) refuses it, and Kill costs it nothing more.
package durability

import "fmt"

// Level is the worst event that a finished write survives.
//
// The zero value is Power, so that an option nobody set is the safe one.
type Level uint8

const (
	// Power: the write survives a power cut or a kernel panic. Content and
	// name have been synced to the device, and the device was told to empty
	// its write cache (fsync(2), fdatasync(2)).
	Power Level = iota
	// Kill: the write survives the end of the process, kill -9 included. It
	// is in the kernel's page cache and metadata, not yet on the device.
	Kill
	// None: lost when the process exits. The write is in the memory of the
	// process only. A package that can keep nothing there refuses the level.
	None
)

var levelNames = [...]string{"power", "kill", "none"}

// String returns "power", "kill" or "none".
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("durability.Level(%d)", uint8(l))
}

// Survives says in a few words what a finished write at this level survives.
func (l Level) Survives() string {
	switch l {
	case Power:
		return "survives a power cut"
	case Kill:
		return "survives kill -9, not a power cut"
	case None:
		return "lost when the process exits"
	}
	return l.String()
}

// MarshalText returns the same words as String.
func (l Level) MarshalText() ([]byte, error) { return marshal(levelNames[:], uint8(l), "level") }

// UnmarshalText accepts exactly what MarshalText returns.
func (l *Level) UnmarshalText(text []byte) error {
	return unmarshal(levelNames[:], (*uint8)(l), text, "level")
}

// After is what a crash in the middle of a write leaves behind.
type After uint8

const (
	// OldOrNew: all of the old state or all of the new, never a mix.
	OldOrNew After = iota
	// Prefix: a whole number of records, from the first on: what was written
	// later is only there if all that came before is.
	Prefix
	// Torn: any part of the write may be there, and any part missing.
	Torn
)

var afterNames = [...]string{"old-or-new", "prefix", "torn"}

// String returns "old-or-new", "prefix" or "torn".
func (a After) String() string {
	if int(a) < len(afterNames) {
		return afterNames[a]
	}
	return fmt.Sprintf("durability.After(%d)", uint8(a))
}

// MarshalText returns the same words as String.
func (a After) MarshalText() ([]byte, error) {
	return marshal(afterNames[:], uint8(a), "state after a crash")
}

// UnmarshalText accepts exactly what MarshalText returns.
func (a *After) UnmarshalText(text []byte) error {
	return unmarshal(afterNames[:], (*uint8)(a), text, "state after a crash")
}

// Promise is the pair that every write function states and every measured
// variant carries. Two speeds are comparable when their promises are equal.
type Promise struct {
	Level Level `json:"level"`
	After After `json:"after_crash"`
}

// String returns, for example, "power, old-or-new".
func (p Promise) String() string { return p.Level.String() + ", " + p.After.String() }

func marshal(names []string, v uint8, what string) ([]byte, error) {
	if int(v) >= len(names) {
		return nil, fmt.Errorf("durability: no %s has the number %d", what, v)
	}
	return []byte(names[v]), nil
}

func unmarshal(names []string, v *uint8, text []byte, what string) error {
	for i, n := range names {
		if n == string(text) {
			*v = uint8(i)
			return nil
		}
	}
	return fmt.Errorf("durability: %q is no %s; want one of %q", text, what, names)
}
