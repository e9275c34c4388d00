package mkdir_test

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/mkdir"
)

// A bind mount of the same file system has the same device number, and is refused
// too.
func TestOneMount(t *testing.T) {
	dir := filetest.Tmpfs(t, 0, "size=1m")
	for _, p := range []string{"root/in", "root/other", "root/same", "elsewhere/sub"} {
		must(t, os.MkdirAll(filepath.Join(dir, p), 0o755))
	}
	bind(t, filepath.Join(dir, "elsewhere"), filepath.Join(dir, "root/same"))
	bind(t, t.TempDir(), filepath.Join(dir, "root/other"))
	root := filepath.Join(dir, "root")
	all := func(m *mkdir.Maker, p string) error { return m.All(p, 0o755) }
	ways := map[string]func(m *mkdir.Maker, p string) error{
		"All":    all,
		"Verify": func(m *mkdir.Maker, p string) error { return m.Verify(p, 0o755) },
		"Batch": func(m *mkdir.Maker, p string) error {
			_, err := m.Batch(t.Context(), slices.Values([]string{p}), 0o755)
			return err
		},
	}
	for _, o := range []mkdir.Options{
		{Level: durability.Kill, Confined: true, OneMount: true},
		{Level: durability.Kill, Root: belowRoot, OneMount: true},
		{Root: belowRoot, OneMount: true},
	} {
		for way, make := range ways {
			m := openAt(t, root, o)
			for mount, paths := range map[string][]string{
				"other": {"other", "other/a", "other/a/b"},
				"same":  {"same", "same/sub", "same/a/b"},
			} {
				for _, p := range paths {
					t.Run(way+"/"+p, func(t *testing.T) { wantErr(t, make(m, p), syscall.EXDEV, filepath.Join(root, mount)) })
				}
			}
			must(t, make(m, "in/"+way))
			must(t, make(m, "in"))
		}
		o.OneMount = false
		m := openAt(t, root, o)
		for _, p := range []string{"other", "same/sub"} {
			must(t, all(m, p))
		}
	}
	// A later mount is noticed at the next creation below it.
	m := openAt(t, root, mkdir.Options{Level: durability.Kill, Confined: true, OneMount: true})
	must(t, m.All("late", 0o755))
	bind(t, filepath.Join(dir, "elsewhere"), filepath.Join(root, "late"))
	wantErr(t, m.Verify("late", 0o755), syscall.EXDEV, filepath.Join(root, "late"))
	wantErr(t, m.All("late/a", 0o755), syscall.EXDEV, filepath.Join(root, "late"))
	if got, err := os.ReadDir(filepath.Join(dir, "elsewhere")); err != nil || len(got) != 1 {
		t.Errorf("created below the mount point: %v, %v", got, err)
	}
}

// The root itself is reached without following a symlink, and within one mount.
func TestRootIsConfined(t *testing.T) {
	dir := filetest.Tmpfs(t, 0, "size=1m")
	must(t, os.MkdirAll(filepath.Join(dir, "a/mount"), 0o755))
	must(t, os.Symlink("a", filepath.Join(dir, "link")))
	bind(t, t.TempDir(), filepath.Join(dir, "a/mount"))
	r, err := os.OpenRoot(dir)
	must(t, err)
	defer r.Close()
	for p, want := range map[string]error{"link": syscall.ELOOP, "link/mount": syscall.ELOOP, "a/mount": syscall.EXDEV, "a/no": syscall.ENOENT, "a": nil} {
		m, err := mkdir.OpenRoot(p, mkdir.Options{Root: r, OneMount: true})
		if want == nil {
			must(t, err)
			must(t, m.Close())
			continue
		}
		wantErr(t, err, want, p)
	}
}
