// Package units formats sizes and counts for people, "64 KiB" and "2 files", and
// parses sizes.
package units

import (
	"fmt"
	"strconv"
)

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

// Decimal formats n bytes with three digits in a decimal unit: "1.5 GB", "128 B". It
// is for sizes that were measured, which no binary unit divides.
func Decimal(n float64) string {
	for _, u := range []struct {
		bytes float64
		name  string
	}{{1e9, " GB"}, {1e6, " MB"}, {1e3, " kB"}} {
		if n >= u.bytes {
			return fmt.Sprintf("%.3g", n/u.bytes) + u.name
		}
	}
	return fmt.Sprintf("%.0f B", n)
}

// Count formats a number of things, "1 file" or "16 files". noun takes an s.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
