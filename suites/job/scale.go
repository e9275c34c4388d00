package job

// A Scale divides the sizes of workloads: 1 leaves them as they are, tests take more.
type Scale int64

// Of returns bytes divided by s, 1 MiB at least.
func (s Scale) Of(bytes int64) int64 { return max(bytes/int64(s), 1<<20) }
