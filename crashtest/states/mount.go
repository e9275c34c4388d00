package states

// MountOptions are the settings of a recording through a mount.
type MountOptions struct {
	// Prepare, unless nil, makes what is there before the work; all of it is
	// durable.
	Prepare func(dir string) error
	// NoExchange makes every exchange of two names (RENAME_EXCHANGE) fail with
	// EINVAL, as file systems do that have none.
	NoExchange bool
}
