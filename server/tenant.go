package server

import (
	"net/http"
	"unicode/utf8"
)

// maxTenant is the longest name of a tenant that a store takes, in bytes.
const maxTenant = 128

// tenantOf returns the tenant of a request by its headers X-Scope-OrgID.
func (s *Server) tenantOf(header []string) (string, error) {
	if !s.o.Tenants {
		if len(header) > 0 {
			s.ignoreTenant(header[0])
		}
		return "", nil
	}
	switch {
	case len(header) == 0 || header[0] == "":
		return "", errNoTenant
	case len(header) > 1:
		return "", refuse(http.StatusBadRequest, "X-Scope-OrgID is there %d times; want one tenant", len(header))
	}
	return header[0], checkTenant(header[0])
}

// checkTenant refuses names that Loki refuses too, so that a store's tenants stay
// reachable by either.
func checkTenant(name string) error {
	if len(name) > maxTenant || !utf8.ValidString(name) || name == "." || name == ".." {
		return refuse(http.StatusBadRequest, "X-Scope-OrgID: %q; want a name of at most %d bytes of UTF-8", name[:min(len(name), maxTenant)], maxTenant)
	}
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == '|' || c == '/' || c == '\\' {
			return refuse(http.StatusBadRequest, "X-Scope-OrgID: %q has the character %q; one tenant is asked at a time", name, c)
		}
	}
	return nil
}

// ignoreTenant counts a header that selects nothing, and warns of the first one.
func (s *Server) ignoreTenant(name string) {
	s.metrics.ignoredTenants.Inc()
	if s.pusher.warned.CompareAndSwap(false, true) {
		s.o.Logger.Warn("a request names a tenant, and the server has one tenant only: X-Scope-OrgID is ignored, see the setting tenants", "tenant", name)
	}
}
