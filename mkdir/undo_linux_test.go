package mkdir_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/mkdir"
)

// Undo leaves a directory that another process created within one tick of the file
// system's clock, although the birth times are equal. On ext4 the inode numbers are
// too.
func TestUndoWithinATick(t *testing.T) {
	m, dir := open(t, mkdir.Options{Level: durability.Kill, Undo: true})
	if !hasHandles(dir) {
		t.Skip("no handles here, which tell two directories of one tick apart")
	}
	name := filepath.Join(dir, "d")
	same := 0
	for range 200 {
		c, err := m.Batch(t.Context(), slices.Values([]string{"d"}), 0o755)
		must(t, err)
		before := born(t, name)
		must(t, os.Remove(name))
		must(t, os.Mkdir(name, 0o755))
		if born(t, name) == before {
			same++
		}
		must(t, c.Undo())
		must(t, os.Remove(name)) // it must be there
		m.Forget(".")
	}
	if same == 0 {
		t.Skip("no two directories were made within one tick")
	}
	t.Logf("%d of 200 were made within a tick", same)
}

func TestUndoNeedsOption(t *testing.T) {
	m, dir := open(t, mkdir.Options{Level: durability.Kill})
	c, err := m.Batch(t.Context(), slices.Values([]string{"d"}), 0o755)
	must(t, err)
	const want = "mkdir: Options.Undo: false; want true for Created.Undo"
	if err := c.Undo(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if len(tree(t, dir)) != 1 || c.Len() != 1 {
		t.Error("removed without proof")
	}
}
