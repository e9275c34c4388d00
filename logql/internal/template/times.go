package template

import (
	"fmt"
	"strconv"
	"time"
)

// Times are in UTC unless a function names a zone.
var timeFunctions = map[string]any{
	"now": func() time.Time { return time.Now().UTC() },
	"toDate": func(layout, s string) time.Time {
		t, _ := time.Parse(layout, s)
		return t
	},
	"unixEpoch":       func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) },
	"unixEpochMillis": func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) },
	"unixEpochNanos":  func(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) },
	"unixToTime":      unixToTime,
}

func (e *Exec) date(layout string, t any) (string, error) {
	if err := e.spend(8 + 4*len(layout)); err != nil {
		return "", err
	}
	return toTime(t).Format(layout), nil
}

// zoneWork is what it takes to read the file of a zone.
const zoneWork = 16 << 10

func (e *Exec) toDateInZone(layout, zone, s string) (time.Time, error) {
	if err := e.spend(zoneWork + len(layout) + len(s)); err != nil {
		return time.Time{}, err
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		loc = time.UTC
	}
	t, _ := time.ParseInLocation(layout, s, loc)
	return t, nil
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
