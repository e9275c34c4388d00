package units

import (
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
)

// Parse parses a size in bytes: a whole number above 0 and a unit, "4096",
// "512M", "2GiB". The units are K, M, G and T, powers of 1024, in any case, and
// may end in B or iB. For the error errors.Is(err, fs.ErrInvalid) holds.
func Parse(s string) (int64, error) {
	upper := strings.ToUpper(s)
	digits := strings.TrimRight(upper, "KMGTIB")
	unit := strings.TrimSuffix(strings.TrimSuffix(upper[len(digits):], "B"), "I")
	power := strings.Index("KMGT", unit) + 1
	if unit == "" {
		power = 0
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || power == 0 && unit != "" || len(unit) > 1 || n > math.MaxInt64>>(10*power) {
		return 0, fmt.Errorf("%q is no size such as 4096, 512M or 2GiB: %w", s, fs.ErrInvalid)
	}
	return n << (10 * power), nil
}
