//go:build !race

package arena

import "github.com/stele-go/stele/internal/sys"

func mapMemory(n int) ([]byte, error) { return sys.MmapMemory(n) }
