// Package units formats and parses sizes for people: "64 KiB".
package units

import "strconv"

// Size formats n bytes in the largest binary unit that divides it: "64 KiB",
// "1 MiB", "4097 bytes".
func Size(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}} {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	if n == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
