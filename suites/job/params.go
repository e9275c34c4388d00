package job

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab"
)

// Amount writes a number of bytes.
func Amount(bytes float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if bytes >= unit.size {
			return fmt.Sprintf("%.3g %s", bytes/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0f B", bytes)
}

func Int(b *lab.B, name string, limit int) (int, error) {
	n, err := strconv.Atoi(b.Params[name])
	if err != nil || n < 1 || n > limit {
		return 0, fmt.Errorf("parameter %s=%q: want a number from 1 to %d", name, b.Params[name], limit)
	}
	return n, nil
}

func Goroutines(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return strconv.Itoa(n) + " goroutines"
}

func Size(b *lab.B) (int, error) {
	n, err := strconv.Atoi(b.Params["size"])
	if err != nil || n < 0 || n > 1<<24 {
		return 0, fmt.Errorf("parameter size=%q: want a number from 0 to %d", b.Params["size"], 1<<24)
	}
	return n, nil
}

func SizeName(size int) string {
	if size >= 1<<20 {
		return fmt.Sprintf("%d MiB", size>>20)
	}
	return fmt.Sprintf("%d KiB", size>>10)
}

// BytesText is a size in the largest unit that has no fraction.
func BytesText(n int) string {
	if n < 1<<10 {
		return strconv.Itoa(n) + " bytes"
	}
	return SizeName(n)
}

func Appenders(n int) string {
	return strings.Replace(Goroutines(n), "goroutine", "appender", 1)
}
