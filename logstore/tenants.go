package logstore

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/stele-go/stele/internal/setting"
)

// maxTenant bounds the bytes of a tenant's name.
const maxTenant = 128

// checkTenant returns an error for a wrong name, which the caller names what.
func checkTenant(what, name string) error {
	switch {
	case len(name) > maxTenant:
		return setting.Wrong(what, setting.Bytes(len(name)), "at most %d", maxTenant)
	case !utf8.ValidString(name):
		return setting.Wrong(what, name, "UTF-8")
	}
	return nil
}

// A tenant is what a store knows of a tenant that has streams in memory, or that
// is about to get some.
type tenant struct {
	name   string
	number uint32 // its space in labelindex, of no other tenant before or after it
	salt   uint64 // its streams are different in the census from those of others
	// uses counts the appends under way, and the streams in memory.
	uses, streams atomic.Int64
	// counted is the half hour in which the census of tenants has counted it.
	counted atomic.Uint32
	// census counts its streams, if they are limited.
	census atomic.Pointer[census]
}

// tenantBytes is about the memory of a tenant that has streams, beside its space.
const tenantBytes = 256

// before reports whether the streams of t come before those of o in a segment.
func (t *tenant) before(o *tenant) bool {
	if len(t.name) != len(o.name) {
		return len(t.name) < len(o.name)
	}
	return t.name < o.name
}

// A tenantTable has the tenants of a store that are in use. One that has streams
// in memory is in use, so there is one tenant for a name. The zero value has
// none.
type tenantTable struct {
	unnamed tenant // ""
	census  *census

	mu     sync.RWMutex
	seed   maphash.Seed
	byName map[string]*tenant
	last   uint32 // number
}

// find returns the tenant, or nil if it is not in use: then it has no stream in
// memory, or gets its first one now.
func (t *tenantTable) find(name string) *tenant {
	if name == "" {
		return &t.unnamed
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byName[name]
}

// enter returns the tenant, which is in use until the caller leaves it.
func (t *tenantTable) enter(name string) *tenant {
	if name == "" {
		return &t.unnamed
	}
	t.mu.RLock()
	in := t.byName[name]
	if in != nil {
		in.uses.Add(1)
	}
	t.mu.RUnlock()
	if in != nil {
		return in
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if in = t.byName[name]; in == nil {
		in = t.add(name)
	}
	in.uses.Add(1)
	return in
}

// add adds a tenant. mu is held.
func (t *tenantTable) add(name string) *tenant {
	if t.byName == nil {
		t.byName, t.seed = map[string]*tenant{}, maphash.MakeSeed()
	}
	t.last++
	in := &tenant{name: name, number: t.last, salt: maphash.String(t.seed, name)}
	t.byName[name] = in
	return in
}

// leave ends a use of the tenant.
func (t *tenant) leave() {
	if t.name != "" {
		t.uses.Add(-1)
	}
}

// forgetUnused forgets the tenants that are not in use, and of whose streams none
// is counted at that half hour.
func (t *tenantTable) forgetUnused(half uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, in := range t.byName {
		if in.uses.Load() > 0 { // uses begin with mu read-held
			continue
		}
		if c := in.census.Load(); c == nil || c.streams(half) == 0 {
			delete(t.byName, name)
		}
	}
}

// len returns how many tenants have entries in memory.
func (t *tenantTable) len() (n int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.unnamed.streams.Load() > 0 {
		n++
	}
	for _, in := range t.byName {
		if in.streams.Load() > 0 {
			n++
		}
	}
	return n
}
