package newfile_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/newfile"
)

// Only a directory of shards at level Kill gets the attribute T.
func TestShardsUnrelated(t *testing.T) {
	const top = 0x00020000 // FS_TOPDIR_FL
	attributes := func(dir string) uint32 {
		f, err := os.Open(dir)
		must(t, err)
		defer f.Close()
		flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			t.Skip("no attributes here: ", err)
		}
		return flags
	}
	var fs unix.Statfs_t
	must(t, unix.Statfs(t.TempDir(), &fs))
	if fs.Type != unix.EXT4_SUPER_MAGIC {
		t.Skip("only ext4 has this one")
	}
	for _, c := range []struct {
		o    newfile.Options
		want uint32
	}{
		{newfile.Options{Level: durability.Kill, Shards: 16}, top},
		{newfile.Options{Level: durability.Kill}, 0},
		{newfile.Options{Shards: 16}, 0},
	} {
		d, dir := open(t, c.o)
		must(t, d.Touch("f", 0o600))
		if got := attributes(dir) & top; got != c.want {
			t.Errorf("%+v: T is %#x, want %#x", c.o, got, c.want)
		}
	}
}
