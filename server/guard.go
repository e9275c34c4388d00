package server

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"net/http"
)

// A guard refuses requests that a page in a browser makes. A page of any site can send
// requests to loopback; by a name that resolves to loopback (DNS rebinding) it can also read
// the answers. Such requests have a foreign Host or Origin. There is no CORS either.
type guard struct {
	all   bool
	hosts map[string]bool // lower case, without port
}

func newGuard(hosts []string) guard {
	g := guard{hosts: map[string]bool{"localhost": true, "": true}}
	for _, h := range hosts {
		g.all = g.all || h == "*"
		g.hosts[strings.ToLower(h)] = true
	}
	return g
}

// Guard returns a handler that has h answer requests, but for those with a foreign Host or
// Origin: it answers these with 403. hosts is as Options.Hosts. It is for what a program
// serves beside a Server, which has a guard of its own.
func Guard(h http.Handler, hosts []string) http.Handler {
	g := newGuard(hosts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.checkRequest(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func (g *guard) checkRequest(r *http.Request) error {
	return g.check(r.Host, r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site"))
}

// check checks the headers Host, Origin and Sec-Fetch-Site of a request, "" if they are
// not there.
func (g *guard) check(host, origin, site string) error {
	if g.all {
		return nil
	}
	if !g.knows(host) {
		return refuse(http.StatusForbidden, "Host %q is not one of this server: list it in its setting hosts", host)
	}
	if site == "cross-site" || site == "same-site" {
		return refuse(http.StatusForbidden, "a page of another site may not use this server")
	}
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Host, host) && !g.hosts[strings.ToLower(u.Hostname())] {
		return refuse(http.StatusForbidden, "Origin %q may not use this server: list its host in the setting hosts", origin)
	}
	if u.Hostname() == "localhost" && !strings.EqualFold(u.Host, host) {
		return refuse(http.StatusForbidden, "Origin %q may not use this server", origin) // another program's port
	}
	return nil
}

// knows reports whether a Host is allowed. An address cannot be rebound.
func (g *guard) knows(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if g.hosts[host] {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	host = strings.ToLower(host)
	return g.hosts[host] || strings.HasSuffix(host, ".localhost")
}
