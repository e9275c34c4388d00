package run

import "github.com/stele-go/stele/durability"

// syncCalls are the system calls that make something durable. sync_file_range(2) is not
// one of them: it flushes no device's cache.
var syncCalls = []string{"fsync", "fdatasync", "msync", "syncfs", "sync"}

// changeCalls are calls that change a file or a directory. An open may do so too, and
// may not.
var changeCalls = []string{
	"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "splice", "copy_file_range", "fallocate", "truncate", "ftruncate",
	"mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "rmdir",
}

// unsynced returns how many operations a variant did that promises Power, in blocks that
// counted every call, where files were changed and nothing asked for a sync. It is 0 where
// that is not so, or cannot be known.
func (d *variantData) unsynced(p Promise) (ops int64) {
	if !p.Writes() || p.Level != durability.Power {
		return 0
	}
	changed := false
	for _, b := range d.counted {
		if b.SyncRequests == nil || *b.SyncRequests > 0 {
			return 0
		}
		for _, name := range syncCalls {
			if b.Syscalls[name] > 0 {
				return 0
			}
		}
		for _, name := range changeCalls {
			changed = changed || b.Syscalls[name] > 0
		}
		ops += b.Ops
	}
	if !changed {
		return 0
	}
	return ops
}
