package template

import (
	"fmt"
	"strconv"
	"time"
)

// Times are in UTC unless a function names a zone.
var timeFunctions = map[string]any{
	"now":  func() time.Time { return time.Now().UTC() },
	"date": func(layout string, t any) string { return toTime(t).Format(layout) },
	"toDate": func(layout, s string) time.Time {
		t, _ := time.Parse(layout, s)
		return t
	},
	"toDateInZone": func(layout, zone, s string) time.Time {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			loc = time.UTC
		}
		t, _ := time.ParseInLocation(layout, s, loc)
		return t
	},
	"unixEpoch":       func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) },
	"unixEpochMillis": func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) },
	"unixEpochNanos":  func(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) },
	"unixToTime":      unixToTime,
}

func toTime(v any) time.Time {
	switch v := v.(type) {
	case time.Time:
		return v
	case int64:
		return time.Unix(v, 0).UTC()
	case int:
		return time.Unix(int64(v), 0).UTC()
	case int32:
		return time.Unix(int64(v), 0).UTC()
	}
	return time.Now().UTC()
}

// unixToTime reads days, seconds, milliseconds, microseconds or nanoseconds since the Unix epoch,
// by how many digits there are.
func unixToTime(s string) (time.Time, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("unable to parse time '%v': %w", s, err)
	}
	switch len(s) {
	case 5:
		return time.Unix(n*86400, 0).UTC(), nil
	case 10:
		return time.Unix(n, 0).UTC(), nil
	case 13:
		return time.UnixMilli(n).UTC(), nil
	case 16:
		return time.UnixMicro(n).UTC(), nil
	case 19:
		return time.Unix(0, n).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("unable to parse time '%v'", s)
}
