package run

import (
	"testing"

	"github.com/stele-go/stele/durability"
)

func TestUnsynced(t *testing.T) {
	none, some := int64(0), int64(1)
	power := Writes(durability.Power, durability.Torn)
	for _, c := range []struct {
		name    string
		promise Promise
		blocks  []*Block
		want    int64
	}{
		{"writes only", power, []*Block{{Ops: 5, SyncRequests: &none, Syscalls: map[string]int64{"pwrite64": 5}}}, 5},
		{"two blocks", power, []*Block{{Ops: 5, SyncRequests: &none, Syscalls: map[string]int64{"pwrite64": 5}}, {Ops: 3, SyncRequests: &none}}, 8},
		{"starts writing early", power, []*Block{{Ops: 5, SyncRequests: &none, Syscalls: map[string]int64{"write": 5, "sync_file_range": 5}}}, 5},
		{"fdatasync", power, []*Block{{Ops: 5, SyncRequests: &none, Syscalls: map[string]int64{"pwrite64": 5, "fdatasync": 1}}}, 0},
		{"one block syncs", power, []*Block{{Ops: 5, SyncRequests: &none, Syscalls: map[string]int64{"pwrite64": 5}}, {Ops: 5, SyncRequests: &none, Syscalls: map[string]int64{"fsync": 1}}}, 0},
		{"by a flag", power, []*Block{{Ops: 5, SyncRequests: &some, Syscalls: map[string]int64{"pwrite64": 5}}}, 0},
		{"not known", power, []*Block{{Ops: 5, Syscalls: map[string]int64{"pwrite64": 5}}}, 0},
		{"changes nothing", power, []*Block{{Ops: 5, SyncRequests: &none, Syscalls: map[string]int64{"pread64": 5}}}, 0},
		{"not counted", power, nil, 0},
		{"level kill", Writes(durability.Kill, durability.Torn), []*Block{{Ops: 5, SyncRequests: &none, Syscalls: map[string]int64{"pwrite64": 5}}}, 0},
		{"writes nothing", WritesNothing(), []*Block{{Ops: 5, SyncRequests: &none, Syscalls: map[string]int64{"pwrite64": 5}}}, 0},
	} {
		d := variantData{counted: c.blocks}
		if got := d.unsynced(c.promise); got != c.want {
			t.Errorf("%s: %d operations, want %d", c.name, got, c.want)
		}
	}
}
