// Package params reads the parameters of requests in all the forms that Loki's API
// takes: times, durations, and the windows of time that requests leave out.
package params

import (
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// MaxBytes bounds the body of a form, and MaxValues how many parameters a request has.
const (
	MaxBytes  = 256 << 10
	MaxValues = 1000
)

// An Error reports a parameter that is wrong.
type Error struct {
	Name  string // of the parameter
	Value string
	Want  string // what is allowed
}

// Error says which parameter is wrong, and what is allowed.
func (e *Error) Error() string {
	value := e.Value
	if len(value) > 100 {
		value = value[:100] + "..."
	}
	return fmt.Sprintf("parameter %s: %q; want %s", e.Name, value, e.Want)
}

// ErrForm reports a body that is no form, or too large.
var ErrForm = errors.New("cannot read the form")

// Values are the parameters of one request.
type Values struct {
	form url.Values
	now  time.Time
}

// Read reads the parameters of a request: those of its URL and, of a POST, PUT or PATCH,
// those of the form that its body is. The times of the request are relative to now. A body
// that is no form is read and ignored, up to MaxBytes: net/http looks whether a client has
// left only once it has read the whole body. The error wraps ErrForm.
func Read(w http.ResponseWriter, r *http.Request, now time.Time) (Values, error) {
	if len(r.URL.RawQuery) > MaxBytes {
		return Values{}, fmt.Errorf("%w: the URL has %d bytes of parameters; want at most %d", ErrForm, len(r.URL.RawQuery), MaxBytes)
	}
	if r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, MaxBytes)
	}
	var err error
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		err = r.ParseMultipartForm(MaxBytes)
	} else {
		err = r.ParseForm()
	}
	if err == nil && r.Body != nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	if err != nil {
		return Values{}, fmt.Errorf("%w: %w", ErrForm, err)
	}
	n := 0
	for _, list := range r.Form {
		n += len(list)
	}
	if n > MaxValues {
		return Values{}, fmt.Errorf("%w: %d parameters; want at most %d", ErrForm, n, MaxValues)
	}
	return Values{r.Form, now}, nil
}

// Of returns values that a program has made.
func Of(form url.Values, now time.Time) Values { return Values{form, now} }

// Now is the time to which the request is relative.
func (v Values) Now() time.Time { return v.now }

// Get returns the first value of a parameter, or "".
func (v Values) Get(name string) string { return v.form.Get(name) }

// All returns the values of a parameter.
func (v Values) All(name string) []string { return v.form[name] }

// Bool reports whether a parameter is set to a word for yes: true, 1, or nothing at all.
func (v Values) Bool(name string) (bool, error) {
	if !v.form.Has(name) {
		return false, nil
	}
	text := v.Get(name)
	if text == "" {
		return true, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, &Error{name, text, "true or false"}
	}
	return b, nil
}

// Count returns a parameter that is a whole number from lo up, or def without it.
func (v Values) Count(name string, def, lo int) (int, error) {
	text := v.Get(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || int(n) < lo {
		return 0, &Error{name, text, fmt.Sprintf("a whole number from %d to %d", lo, math.MaxInt32)}
	}
	return int(n), nil
}

// Time returns a parameter that is a time, in nanoseconds since the Unix epoch, or def
// without it. See ParseTime.
func (v Values) Time(name string, def int64) (int64, error) {
	text := v.Get(name)
	if text == "" {
		return def, nil
	}
	t, ok := ParseTime(text)
	if !ok {
		return 0, &Error{name, text, wantTime}
	}
	return t, nil
}

// Duration returns a parameter that is a duration, or def without it. See ParseDuration.
func (v Values) Duration(name string, def time.Duration) (time.Duration, error) {
	text := v.Get(name)
	if text == "" {
		return def, nil
	}
	d, ok := ParseDuration(text)
	if !ok {
		return 0, &Error{name, text, wantDuration}
	}
	return d, nil
}

// Window returns the parameters start and end. Without end it is now. Without start it is
// as long before end as the parameter since says, or else def; an end in the future
// counts as now there. end is not before start; with same false, it is after it.
func (v Values) Window(def time.Duration, same bool) (start, end int64, err error) {
	now := v.now.UnixNano()
	if end, err = v.Time("end", now); err != nil {
		return 0, 0, err
	}
	since, err := v.Duration("since", def)
	if err != nil {
		return 0, 0, err
	}
	if since < 0 {
		return 0, 0, &Error{"since", v.Get("since"), "a duration of 0 or more"}
	}
	if start, err = v.Time("start", max(min(end, now)-int64(since), 0)); err != nil {
		return 0, 0, err
	}
	if end < start || end == start && !same {
		name, value, want := "end", v.Get("end"), "a time after start, "
		other := start
		if value == "" { // end is now
			name, value, want, other = "start", v.Get("start"), "a time before end, ", end
		}
		return 0, 0, &Error{name, value, want + time.Unix(0, other).UTC().Format(time.RFC3339Nano)}
	}
	return start, end, nil
}

// Step returns the parameter step, which is above 0. Without it, it is what divides the time
// from start to end into 250, at least a second, in whole seconds.
func (v Values) Step(start, end int64) (time.Duration, error) {
	def := max(time.Duration((end-start)/250).Truncate(time.Second), time.Second)
	step, err := v.Duration("step", def)
	if err != nil {
		return 0, err
	}
	if step <= 0 {
		return 0, &Error{"step", v.Get("step"), "a duration above 0"}
	}
	return step, nil
}

// Interval returns the parameter interval, which is 0 or more, and 0 without it.
func (v Values) Interval() (time.Duration, error) {
	d, err := v.Duration("interval", 0)
	if err == nil && d < 0 {
		err = &Error{"interval", v.Get("interval"), "a duration of 0 or more"}
	}
	return d, err
}

// Forward reports whether the parameter direction is forward. Without it, it is backward.
func (v Values) Forward() (bool, error) {
	switch text := v.Get("direction"); strings.ToLower(text) {
	case "", "backward":
		return false, nil
	case "forward":
		return true, nil
	default:
		return false, &Error{"direction", text, "forward or backward"}
	}
}

const (
	wantTime = "nanoseconds or seconds since the Unix epoch, or a time as in RFC 3339, from 1970 to 2262: " +
		"1700000000, 1700000000.5, 1700000000000000000, 2023-11-14T22:13:20Z"
	wantDuration = "a duration: 1h30m, 15s, 1d, or seconds as a number"
)

// ParseTime reads a time: a whole number of up to ten digits is seconds since the Unix
// epoch, a longer one nanoseconds; a number with a point or an exponent is seconds; all else is a
// time as in RFC 3339. ok is false for other texts, and outside of what int64 has.
func ParseTime(text string) (ns int64, ok bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if len(strings.TrimLeft(text, "+-")) <= 10 {
			n *= 1e9
		}
		return n, n >= 0
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return floatTime(f)
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Before(time.Unix(0, 0)) || !t.Before(time.Unix(0, math.MaxInt64)) {
		return 0, false
	}
	return t.UnixNano(), true
}

// floatTime takes the fraction as far as a float64 of our time has it: milliseconds.
func floatTime(f float64) (int64, bool) {
	if !(f >= 0 && f < math.MaxInt64/1e9) {
		return 0, false
	}
	s, fraction := math.Modf(f)
	ns := int64(s)*1e9 + int64(math.Round(fraction*1000))*1e6
	return ns, ns >= 0
}

// durationUnits are those that Prometheus has beside Go's; from the largest on.
var durationUnits = map[string]time.Duration{
	"y": 365 * 24 * time.Hour, "w": 7 * 24 * time.Hour, "d": 24 * time.Hour,
	"h": time.Hour, "m": time.Minute, "s": time.Second, "ms": time.Millisecond,
	"us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond, "ns": time.Nanosecond,
}

// ParseDuration reads a duration: a number is seconds, else it is numbers with units
// from ns to y, 1h30m or 1.5d. ok is false for other texts, and where int64 overflows.
func ParseDuration(text string) (d time.Duration, ok bool) {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		f *= 1e9
		if !(math.Abs(f) < math.MaxInt64) {
			return 0, false
		}
		return time.Duration(f), true
	}
	rest, negative := strings.CutPrefix(text, "-")
	if rest == "" {
		return 0, false
	}
	var sum float64
	var whole int64 // exact, as long as the numbers are whole
	exact := true
	for rest != "" {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		rest = rest[len(number):]
		unit := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzµμ"))]
		rest = rest[len(unit):]
		f, err := strconv.ParseFloat(number, 64)
		size, known := durationUnits[unit]
		if err != nil || !known {
			return 0, false
		}
		sum += f * float64(size)
		if !(sum < math.MaxInt64) {
			return 0, false
		}
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			whole += n * int64(size)
		} else {
			exact = false
		}
	}
	d = time.Duration(sum)
	if exact {
		d = time.Duration(whole)
	}
	if negative {
		d = -d
	}
	return d, true
}
