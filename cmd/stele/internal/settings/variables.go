package settings

import (
	"slices"
	"strings"
)

// UnknownVariables returns the names of the variables of an environment, as os.Environ
// returns it, that begin with STELE_ and that no command reads, such as STELE_MEMROY. Those
// that Kubernetes makes for a service of the name stele are not among them.
func UnknownVariables(environ []string) (unknown []string) {
	known := []string{"STELE_ADDR", "STELE_TENANT", "STELE_CONFIG"}
	for _, s := range All() {
		known = append(known, s.Variable())
	}
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		of, ok := strings.CutPrefix(name, "STELE_")
		if ok && !slices.Contains(known, name) && !strings.HasPrefix(of, "SERVICE_") && of != "PORT" && !strings.HasPrefix(of, "PORT_") {
			unknown = append(unknown, name)
		}
	}
	return unknown
}
