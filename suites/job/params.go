package job

import (
	"strconv"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab"
)

// Int returns a parameter of the block's experiment that is a number from lo to hi.
func Int(b *lab.B, name string, lo, hi int) (int, error) {
	n, err := strconv.Atoi(b.Params[name])
	if err != nil || n < lo || n > hi {
		return 0, setting.Wrong("suites: parameter "+name, b.Params[name], "a number from %d to %d", lo, hi)
	}
	return n, nil
}

// Size returns the parameter size, the bytes of an operation.
func Size(b *lab.B) (int, error) { return Int(b, "size", 0, 1<<24) }
