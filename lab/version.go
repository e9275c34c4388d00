package lab

import (
	"runtime"
	"runtime/debug"
)

// Version returns the version of Stele in the running program, and the Go it was
// built with: "v0.1.0, go1.26.8". The version is "(devel)" where it was built
// from a checkout that is not a released one.
func Version() string {
	const module = "github.com/stele-go/stele"
	v := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Path == module {
			v = info.Main.Version
		}
		for _, d := range info.Deps {
			if d.Path == module {
				v = d.Version
			}
		}
	}
	if v == "" {
		v = "(devel)"
	}
	return v + ", " + runtime.Version()
}
