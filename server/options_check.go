package server

// Check returns the error that New would return for the options themselves, which names
// the field, its value and what is allowed, or nil.
func (o Options) Check() error { return o.check() }
