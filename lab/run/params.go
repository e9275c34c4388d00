package run

import (
	"sort"
	"strings"
)

// Params are named parameters, written key=value.
type Params map[string]string

// String returns the parameters as "k=v/k=v", ordered by key.
func (p Params) String() string {
	keys := make([]string, 0, len(p))
	for k := range p {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = k + "=" + p[k]
	}
	return strings.Join(parts, "/")
}
