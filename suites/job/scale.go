package job

// A Scale divides the sizes of the published workloads: 1 for what is
// published, more for tests.
type Scale int64

// Of is a size, of a MiB at least.
func (s Scale) Of(bytes int64) int64 { return max(bytes/int64(s), 1<<20) }
