//go:build !linux

package cli

// A sign is not seen on this system.
type sign struct{}

func hangOut() sign            { return sign{} }
func (sign) close()            {}
func (sign) others() []string  { return nil }
func pidOf(name string) string { return name }
