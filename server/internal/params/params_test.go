package params

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

var now = time.Unix(1700000000, 5)

func of(t *testing.T, query string) Values {
	t.Helper()
	form, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return Of(form, now)
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]int64{
		"0":                              0,
		"1700000000":                     1700000000e9,
		"9999999999":                     -1, // beyond 2262
		"1700000000000000000":            1700000000e9,
		"17000000000":                    17000000000,
		"1700000000.5":                   1700000000.5e9,
		"1700000000.123":                 1700000000_123_000_000,
		"1.7e9":                          1700000000e9,
		"2023-11-14T22:13:20Z":           1700000000e9,
		"2023-11-14T22:13:20.000000005Z": 1700000000e9 + 5,
		"2023-11-15T00:13:20+02:00":      1700000000e9,
		"1969-12-31T23:59:59Z":           -1,
		"2300-01-01T00:00:00Z":           -1,
		"-1":                             -1, "-0.5": -1, "NaN": -1, "Inf": -1, "1e300": -1, "": -1, "now": -1,
		"9223372036854775808": -1,
	} {
		got, ok := ParseTime(text)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, ok, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	const bad = time.Duration(math.MinInt64)
	for text, want := range map[string]time.Duration{
		"15": 15 * time.Second, "0.5": 500 * time.Millisecond, "-3": -3 * time.Second, "1h30m": 90 * time.Minute,
		"1.5d": 36 * time.Hour, "1w": 168 * time.Hour, "1y": 8760 * time.Hour, "250ms": 250 * time.Millisecond, "7us": 7000, "7µs": 7000, "9ns": 9,
		"-1m": -time.Minute, "": bad, "-": bad, "m": bad, "1": time.Second, "1x": bad, "1m2": bad, "1e300": bad, "NaN": bad, "Inf": bad,
		"300y": bad, "1 m": bad, "0s": 0, "1..5s": bad, "9223372036854775807ns": bad,
	} {
		got, ok := ParseDuration(text)
		if ok != (want != bad) || ok && got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, ok, want)
		}
	}
}

func TestWindow(t *testing.T) {
	ns := now.UnixNano()
	const hour = int64(time.Hour)
	for _, c := range []struct {
		query      string
		start, end int64
		wrong      string
	}{
		{"", ns - hour, ns, ""},
		{"since=2h", ns - 2*hour, ns, ""},
		{"since=7200", ns - 2*hour, ns, ""},
		{"end=1600000000", 1600000000e9 - hour, 1600000000e9, ""},
		{"end=1800000000", ns - hour, 1800000000e9, ""},
		{"end=1800000000&since=1m", ns - int64(time.Minute), 1800000000e9, ""},
		{"start=1600000000&since=1m", 1600000000e9, ns, ""},
		{"end=10", 0, 10e9, ""},
		{"start=1600000000&end=1600000000", 0, 0, "end"},
		{"start=1600000001&end=1600000000", 0, 0, "end"},
		{"start=x", 0, 0, "start"},
		{"since=x", 0, 0, "since"},
		{"since=-1h", 0, 0, "since"},
	} {
		start, end, err := of(t, c.query).Window(time.Hour, false)
		var wrong *Error
		if errors.As(err, &wrong) != (c.wrong != "") || err != nil && wrong.Name != c.wrong {
			t.Errorf("%s: error %v; want one of %q", c.query, err, c.wrong)
		}
		if err == nil && (start != c.start || end != c.end) {
			t.Errorf("%s: %d to %d; want %d to %d", c.query, start, end, c.start, c.end)
		}
	}
	if _, _, err := of(t, "start=5&end=5").Window(time.Hour, true); err != nil {
		t.Error(err)
	}
}

func TestStep(t *testing.T) {
	for _, c := range []struct {
		query  string
		length time.Duration
		want   time.Duration // 0 is an error
	}{
		{"", time.Minute, time.Second},
		{"", time.Hour, 14 * time.Second},
		{"step=1m", time.Hour, time.Minute},
		{"step=0.5", time.Hour, 500 * time.Millisecond},
		{"step=0", time.Hour, 0},
		{"step=-1s", time.Hour, 0},
		{"step=x", time.Hour, 0},
	} {
		got, err := of(t, c.query).Step(0, int64(c.length))
		if got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%q: %v, %v; want %v", c.query, got, err, c.want)
		}
	}
}

func TestWordsAndCounts(t *testing.T) {
	if f, err := of(t, "direction=FORWARD").Forward(); !f || err != nil {
		t.Error(f, err)
	}
	if f, err := of(t, "").Forward(); f || err != nil {
		t.Error(f, err)
	}
	if _, err := of(t, "direction=up").Forward(); err == nil {
		t.Error("direction=up is taken")
	}
	if n, err := of(t, "limit=7").Count("limit", 100, 1); n != 7 || err != nil {
		t.Error(n, err)
	}
	for _, bad := range []string{"limit=0", "limit=-1", "limit=x", "limit=99999999999", "limit=1.5"} {
		if n, err := of(t, bad).Count("limit", 100, 1); err == nil {
			t.Errorf("%s is taken as %d", bad, n)
		}
	}
	for query, want := range map[string]bool{"": false, "explain": true, "explain=1": true, "explain=true": true, "explain=false": false} {
		if b, err := of(t, query).Bool("explain"); b != want || err != nil {
			t.Errorf("%q: %v, %v", query, b, err)
		}
	}
	if _, err := of(t, "explain=perhaps").Bool("explain"); err == nil {
		t.Error("explain=perhaps is taken")
	}
	if d, err := of(t, "interval=5s").Interval(); d != 5*time.Second || err != nil {
		t.Error(d, err)
	}
	if _, err := of(t, "interval=-5s").Interval(); err == nil {
		t.Error("interval=-5s is taken")
	}
}

func TestReadForms(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/?limit=5", strings.NewReader("query=%7Ba%3D%22b%22%7D&match[]=x&match[]=y"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	v, err := Read(httptest.NewRecorder(), r, now)
	if err != nil {
		t.Fatal(err)
	}
	if v.Get("query") != `{a="b"}` || v.Get("limit") != "5" || len(v.All("match[]")) != 2 {
		t.Errorf("read as %v", v.form)
	}
	for name, body := range map[string]string{
		"long":      "query=" + strings.Repeat("x", MaxBytes),
		"many":      strings.Repeat("a=b&", MaxValues+1),
		"malformed": "query=%zz",
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if _, err := Read(httptest.NewRecorder(), r, now); !errors.Is(err, ErrForm) {
			t.Errorf("%s: error %v; want ErrForm", name, err)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"1700000000", "1700000000.5", "2023-11-14T22:13:20.5Z", "-1", "1e9", "0x10", "9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if ns, ok := ParseTime(text); ok && ns < 0 {
			t.Errorf("%q: %d", text, ns)
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"1h30m", "15", "1.5d", "-3m", "7µs", "1e3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := ParseDuration(text)
		if standard, err := time.ParseDuration(text); ok && err == nil && math.Abs(float64(d-standard)) > 1 && math.Abs(float64(d-standard)) > 1e-9*math.Abs(float64(d)) {
			if text != "" && text[0] != '+' {
				t.Errorf("%q: %v; want %v", text, d, standard)
			}
		}
	})
}

func FuzzWindow(f *testing.F) {
	f.Add("1", "2", "1h", "5s")
	f.Add("", "1800000000", "", "")
	f.Fuzz(func(t *testing.T, start, end, since, step string) {
		v := Of(url.Values{"start": {start}, "end": {end}, "since": {since}, "step": {step}}, now)
		from, to, err := v.Window(time.Hour, false)
		if err != nil {
			return
		}
		if from < 0 || to <= from {
			t.Fatalf("%d to %d", from, to)
		}
		if d, err := v.Step(from, to); err == nil && d <= 0 {
			t.Fatalf("step %d", d)
		}
	})
}

// A start in the future is wrong by itself: there is no end to blame.
func TestWindowNamesWhatIsWrong(t *testing.T) {
	now := time.Unix(1700000000, 0)
	for _, c := range []struct{ start, end, want string }{
		{"1700000001", "", `parameter start: "1700000001"; want a time before end, 2023-11-14T22:13:20Z`},
		{"1700000001", "1700000000", `parameter end: "1700000000"; want a time after start, 2023-11-14T22:13:21Z`},
	} {
		form := url.Values{"start": {c.start}}
		if c.end != "" {
			form.Set("end", c.end)
		}
		if _, _, err := Of(form, now).Window(time.Hour, true); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
