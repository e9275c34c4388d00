package header_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/internal/measure/scratch"
)

// This program, started again, plays a role in a test.
const roleEnv = "STELE_HEADER_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(play(role))
	}
	code := m.Run()
	for _, c := range cleanups {
		c()
	}
	os.Exit(code)
}

// A where is a directory on a file system, and the strategies that work there.
type where struct {
	name, dir string
	can       []header.Strategy
}

var (
	cleanups []func()

	// images returns fresh file systems, made once, or none without permission to mount.
	images = sync.OnceValue(func() (list []where) {
		for _, w := range []where{
			{name: "ext4", can: []header.Strategy{header.Auto, header.Shift, header.KernelCopy, header.Copy}},
			{name: "xfs", can: []header.Strategy{header.Auto, header.Shift, header.Clone, header.KernelCopy, header.Copy}},
			{name: "btrfs", can: []header.Strategy{header.Auto, header.Clone, header.KernelCopy, header.Copy}},
		} {
			store, err := os.MkdirTemp("", "header-test-")
			if err != nil {
				continue
			}
			cleanups = append(cleanups, func() { os.RemoveAll(store) })
			image, err := scratch.Image(context.Background(), scratch.Options{FS: w.name, Size: 512 << 20, Store: store})
			if err != nil {
				continue
			}
			cleanups = append([]func(){func() { image.Close() }}, cleanups...)
			w.dir = image.Path
			list = append(list, w)
		}
		return list
	})
)

// places returns the directory for temporary files, and images where possible.
func places(t *testing.T) []where {
	all := []where{{name: "tmp", dir: t.TempDir(), can: []header.Strategy{header.Auto, header.Copy}}}
	more := images()
	if len(more) < 3 {
		t.Logf("%d of 3 file systems: the others need root, loop devices and mkfs", len(more))
	}
	return append(all, more...)
}
