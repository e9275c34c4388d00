package cli

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/settings"
	"github.com/stele-go/stele/internal/setting"
)

// momentLayouts are the layouts of a moment, in local time unless they name a zone.
var momentLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
}

// moment reads a moment: a date, a time of today, a time ago, or a number since 1970 in
// seconds, or in nanoseconds if it is that large.
func moment(flag, text string, now time.Time) (int64, error) {
	if text == "now" {
		return now.UnixNano(), nil
	}
	for _, layout := range momentLayouts {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil && t.Unix() >= 0 && t.Year() < 2262 {
			return t.UnixNano(), nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location()).UnixNano(), nil
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		if n >= 1e15 {
			return n, nil
		}
		if n < math.MaxInt64/int64(time.Second) {
			return n * 1e9, nil
		}
	}
	if d, err := settings.ParseDuration(strings.TrimPrefix(text, "-")); err == nil && int64(d) < now.UnixNano() {
		return now.UnixNano() - int64(d), nil
	}
	return 0, setting.Wrong(flag, text, "a moment such as 2027-01-15T08:00:00Z, 2027-01-15, 08:30, 2h (ago), now, or seconds since 1970")
}
