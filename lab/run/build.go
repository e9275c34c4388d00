package run

import (
	"fmt"
	"time"
)

// A Build says which source a program was built from, as the Go tool recorded it.
type Build struct {
	Path     string    `json:"path,omitempty"`     // of its main package
	Revision string    `json:"revision,omitempty"` // of the version control
	Time     time.Time `json:"time,omitzero"`      // of that revision
	Modified bool      `json:"modified,omitempty"` // the source had changes that were not in that revision
}

// An Against describes the other program of a run, whose blocks have RoleAgainst.
type Against struct {
	Program string `json:"program"`       // its path, as asked for
	Version string `json:"stele_version"` // that it was built with
	Build   *Build `json:"build,omitempty"`
	// Missing are the variants that only one of the two programs has, and those that
	// promise something else in the other.
	Missing []Mismatch `json:"missing"`
}

// String names the program and its source: "./old (v0.1.0, go1.26.8, revision 1a2b3c4d5e6f, modified)".
func (a *Against) String() string {
	s := a.Version
	if a.Build != nil && a.Build.Revision != "" {
		s += ", revision " + a.Build.Short()
	}
	return fmt.Sprintf("%s (%s)", a.Program, s)
}

// Short returns the first 12 digits of the revision, with ", modified" where the source
// had changes; "" without a revision.
func (b *Build) Short() string {
	if b == nil || b.Revision == "" {
		return ""
	}
	s := b.Revision[:min(len(b.Revision), 12)]
	if b.Modified {
		s += ", modified"
	}
	return s
}
