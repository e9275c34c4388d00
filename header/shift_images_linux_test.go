package header_test

import "github.com/stele-go/stele/header"

func init() {
	header.ShiftingDirs = func() map[string]string {
		dirs := map[string]string{}
		for _, w := range images() {
			if w.name != "btrfs" {
				dirs[w.name] = w.dir
			}
		}
		return dirs
	}
}
