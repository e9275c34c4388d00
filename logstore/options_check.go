package logstore

// Check returns the error that Open would return for the options themselves, a
// *setting.Error that names the field, its value and what is allowed, or nil. It opens
// nothing: a program can tell that its settings are wrong before it starts.
func (o Options) Check() error { return o.check() }
