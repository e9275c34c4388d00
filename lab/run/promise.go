package run

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stele-go/stele/durability"
)

// A Promise is what a variant says that its operation keeps: what a finished
// operation survives and what a crash leaves, or that it writes nothing. Writes and
// WritesNothing return one. Variants are compared only with those of an equal promise.
//
// The zero value is a promise that was not stated, and lab refuses it. In an option of
// a package a zero durability.Promise is the safe choice; as a statement about a way it
// would be the boldest.
type Promise struct {
	// Level and After are those that Writes was given. A way that writes nothing has
	// None and Torn, the least.
	Level durability.Level
	After durability.After
	kind  promiseKind
}

type promiseKind uint8

const (
	notStated promiseKind = iota
	writes
	writesNothing
)

// Writes returns the promise of a way that writes: a finished operation survives level,
// and a crash during one leaves after.
func Writes(level durability.Level, after durability.After) Promise {
	return Promise{level, after, writes}
}

// WritesNothing returns the promise of a way that writes nothing, a read for example:
// durability is not applicable to it.
func WritesNothing() Promise { return Promise{durability.None, durability.Torn, writesNothing} }

// Writes reports whether p is the promise of a way that writes.
func (p Promise) Writes() bool { return p.kind == writes }

// replaces reports whether p is what a variant that writes nothing is given today, and
// old what it was given before WritesNothing.
func (p Promise) replaces(old Promise) bool {
	return p == WritesNothing() && old == Writes(durability.None, durability.Torn)
}

// notApplicable is the level in JSON, and the words, of a way that writes nothing.
const notApplicable = "not applicable"

// String returns "power, old-or-new" for example, "not applicable" of a way that writes
// nothing, and "not stated" of the zero value.
func (p Promise) String() string {
	switch p.kind {
	case writes:
		return durability.Promise{Level: p.Level, After: p.After}.String()
	case writesNothing:
		return notApplicable
	}
	return "not stated"
}

// Survives describes what a finished operation survives, as a part of a sentence:
// "survives a power cut", or "writes nothing".
func (p Promise) Survives() string {
	switch p.kind {
	case writes:
		return p.Level.Survives()
	case writesNothing:
		return "writes nothing"
	}
	return "does not state what survives"
}

// Validate returns an error for a promise that was not stated, or whose level or state
// is unknown.
func (p Promise) Validate() error {
	if p.kind == notStated {
		return errors.New("not stated; want run.Writes(level, after) or run.WritesNothing()")
	}
	_, err := p.Level.MarshalText()
	_, afterErr := p.After.MarshalText()
	return errors.Join(err, afterErr)
}

// promiseJSON is the form of a Promise in JSON. Level is that of durability, or
// notApplicable alone.
type promiseJSON struct {
	Level string            `json:"level"`
	After *durability.After `json:"after_crash,omitempty"`
}

// MarshalJSON writes {"level": "power", "after_crash": "torn"}, {"level": "not
// applicable"}, or null for a promise that was not stated.
func (p Promise) MarshalJSON() ([]byte, error) {
	switch p.kind {
	case writes:
		if err := p.Validate(); err != nil {
			return nil, err
		}
		return json.Marshal(promiseJSON{p.Level.String(), &p.After})
	case writesNothing:
		return json.Marshal(promiseJSON{Level: notApplicable})
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and the promises of runs from before
// WritesNothing, whose reads have level none.
func (p *Promise) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*p = Promise{}
		return nil
	}
	var j promiseJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	if j.Level == notApplicable {
		if j.After != nil {
			return fmt.Errorf("run: promise: after_crash: %s, of a way that writes nothing; want none", j.After)
		}
		*p = WritesNothing()
		return nil
	}
	var level durability.Level
	if err := level.UnmarshalText([]byte(j.Level)); err != nil {
		return err
	}
	if j.After == nil {
		return fmt.Errorf("run: promise: no after_crash; want one beside level %s", level)
	}
	*p = Writes(level, *j.After)
	return nil
}
