package filetest

import "runtime"

// Allocated returns how many bytes of memory f allocates, those included that it
// frees, with what else allocates meanwhile.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
