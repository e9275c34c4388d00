package lab

import (
	"runtime"
	"runtime/debug"
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
