// Package durability has the terms for what survives a crash.
//
// Every function of Stele that writes states a [Level], the crash that a finished
// write survives, and an [After], the state that a crash during the write leaves.
// Every variant that the lab measures carries both, because a speed without them
// says nothing.
//
// # Mistakes to avoid
//
//   - Comparing levels with < for "safer": Power is 0, and the safest.
//   - Taking Power for replication: the device has the write, and if the device is
//     lost so is the write.
//   - Testing Power by kill -9: the kernel keeps writes without a sync too. Test
//     it by a power cut, as package crashtest/power does.
//   - Taking the Level of a finished write for the state after a crash during it:
//     that is its After, which at level Power may be Torn all the same.
//   - Choosing None for speed. A package whose writes are in the kernel at once
//     (mkdir, newfile) refuses it, and Kill costs no more.
package durability

import "fmt"

// Level is the worst event that a finished write survives.
//
// The zero value is Power, so that an option that was not set is the safe one.
type Level uint8

const (
	// Power is the level of a write that survives a power cut or a kernel panic.
	// Content and name have been synced to the device, and the device has flushed
	// its write cache (fsync(2), fdatasync(2)).
	Power Level = iota
	// Kill is the level of a write that survives the end of the process, kill -9
	// included. It is in the kernel's page cache and metadata, not yet on the
	// device.
	Kill
	// None is the level of a write that is lost when the process exits. It is in
	// the memory of the process only. A package that does not buffer writes there
	// refuses the level.
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

// Survives describes what a finished write at this level survives, for example
// "survives a power cut".
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

// MarshalText returns the text of String, for JSON. A level outside the
// constants is an error.
func (l Level) MarshalText() ([]byte, error) { return marshal(levelNames[:], uint8(l), "level") }

// UnmarshalText accepts exactly what MarshalText returns.
func (l *Level) UnmarshalText(text []byte) error {
	return unmarshal(levelNames[:], (*uint8)(l), text, "level")
}

// After is the state that a crash during a write leaves.
type After uint8

const (
	// OldOrNew is all of the old state or all of the new, never a mix.
	OldOrNew After = iota
	// Prefix is a whole number of records from the first on: a record is there
	// only if all records before it are.
	Prefix
	// Torn is any part of the write: any other may be missing.
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

// MarshalText returns the text of String, for JSON. A value outside the
// constants is an error.
func (a After) MarshalText() ([]byte, error) {
	return marshal(afterNames[:], uint8(a), "state after a crash")
}

// UnmarshalText accepts exactly what MarshalText returns.
func (a *After) UnmarshalText(text []byte) error {
	return unmarshal(afterNames[:], (*uint8)(a), text, "state after a crash")
}

// A Promise is the pair that every write function states and every measured
// variant carries. Two speeds are comparable if their promises are equal.
type Promise struct {
	Level Level `json:"level"`
	After After `json:"after_crash"`
}

// String returns, for example, "power, old-or-new".
func (p Promise) String() string { return p.Level.String() + ", " + p.After.String() }

func marshal(names []string, v uint8, what string) ([]byte, error) {
	if int(v) >= len(names) {
		return nil, fmt.Errorf("durability: %d is no %s; want 0 to %d", v, what, len(names)-1)
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
