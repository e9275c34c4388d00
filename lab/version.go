package lab

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// Version returns the version of Stele in the running program, and the Go it was
// built with: "v0.1.0, go1.26.8". The version is that of the module of this
// package, and "(devel)" where it was built from a checkout that is not a released
// one.
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info) + ", " + runtime.Version()
}

// versionOf finds this module among those that a program was built from: the main
// module, or one that it requires. info is nil where the program does not have it.
func versionOf(info *debug.BuildInfo) string {
	const module = "github.com/stele-go/stele/lab"
	if info == nil {
		return "unknown"
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path != module {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == "" {
			return "(devel)"
		}
		return m.Version
	}
	return "unknown"
}

// build returns the source that this program was built from, or nil where it does not
// know: the Go tool records a revision in what "go build" makes of a checkout, not in
// tests.
func build() *run.Build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) *run.Build {
	if info == nil {
		return nil
	}
	b := run.Build{Path: info.Path}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time, _ = time.Parse(time.RFC3339, s.Value) // the zero time where it cannot be read
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if b == (run.Build{}) {
		return nil
	}
	return &b
}
