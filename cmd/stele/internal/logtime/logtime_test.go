package logtime

import (
	"testing"
	"time"
)

func TestFind(t *testing.T) {
	east := time.FixedZone("east", 3600)
	at := func(s string) int64 {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixNano()
	}
	for _, c := range []struct {
		format, line, want string
	}{
		{"auto", "2027-01-15T08:00:00Z hello", "2027-01-15T08:00:00Z"},
		{"auto", "level=info ts=2027-01-15T08:00:00.123456789Z msg=x", "2027-01-15T08:00:00.123456789Z"},
		{"auto", `{"time":"2027-01-15T08:00:00+02:00"}`, "2027-01-15T06:00:00Z"},
		{"auto", "2027/01/15 08:00:00 [error] x", "2027-01-15T07:00:00Z"},
		{"auto", "2027-01-15 08:00:00,250 INFO x", "2027-01-15T07:00:00.25Z"},
		{"auto", "2027-01-15 08:00:00.5 +0000 x", "2027-01-15T08:00:00.5Z"},
		{"auto", `1.2.3.4 - - [15/Jan/2027:08:00:00 +0100] "GET / HTTP/1.1" 200`, "2027-01-15T07:00:00Z"},
		{"auto", "Jan 15 08:00:00 host app: x", "2027-01-15T07:00:00Z"},
		{"auto", "<34>Feb  3 08:00:00 host app: x", "2027-02-03T07:00:00Z"},
		{"auto", "Dec 31 23:00:00 host app: x", "2026-12-31T22:00:00Z"},
		{"auto", "1800000000 x", "2027-01-15T08:00:00Z"},
		{"auto", "1800000000.5 x", "2027-01-15T08:00:00.5Z"},
		{"auto", "1800000000123 x", "2027-01-15T08:00:00.123Z"},
		{"unix", `{"ts":1800000000123456789}`, "2027-01-15T08:00:00.123456789Z"},
		{"unix", "id 7 ts=1800000000 x", "2027-01-15T08:00:00Z"},
		{"02.01.2006 15:04:05", "on 15.01.2027 08:00:00 x", "2027-01-15T07:00:00Z"},
		{"Jan 2 15:04:05.000", "E Jan 15 08:00:00.250 x", "2027-01-15T07:00:00.25Z"},

		{"auto", "2027-01-15 08:00:00.5 UTC [17] LOG: x", "2027-01-15T08:00:00.5Z"},
		{"auto", "2027-01-15 08:00:00 GMT x", "2027-01-15T08:00:00Z"},
		{"auto", "2027-01-15 08:00:00+02 x", "2027-01-15T06:00:00Z"},
		{"auto", "2027-01-15 08:00:00 +9999 of them", "2027-01-15T07:00:00Z"},
		{"auto", "2027-01-15 08:00:00 -17 of them", "2027-01-15T07:00:00Z"},
		{"auto", "2027-01-15 08:00:00 UTCX", "2027-01-15T07:00:00Z"},
		{"Jan 2 15:04:05", "Dec 31 23:00:00 x", "2026-12-31T22:00:00Z"},
		{"Mon Jan _2 15:04:05", "Thu Dec 31 23:00:00 x", "2026-12-31T22:00:00Z"},
		{"Mon 15:04:05", "Wed 11:59:00 x", "2027-02-03T10:59:00Z"},
		{"15:04:05", "11:59:00 x", "2027-02-03T10:59:00Z"},
		{"15:04:05.000", "I 23:59:00.500 x", "2027-02-02T22:59:00.5Z"},
		{"auto", "  2027-01-15T08:00:00Z hello", "2027-01-15T08:00:00Z"},
		{"auto", " [2027-01-15T08:00:00.123456789+01:00] hello", "2027-01-15T07:00:00.123456789Z"},
		{"auto", "\tat shop.Order(2027-01-15T08:00:00Z)", ""},
		{"auto", "    request of 2027-01-15T08:00:00Z failed", ""},
		{"auto", "2027-02-31T08:00:00Z", ""},
		{"auto", "hello", ""},
		{"auto", "", ""},
		{"auto", "    at com.example.Main(Main.java:17)", ""},
		{"auto", "2027-13-15T08:00:00Z", ""},
		{"auto", "2027-01-15", ""},
		{"auto", "127 x", ""},
		{"clf", "2027-01-15T08:00:00Z", ""},
		{"iso", "99999-01-15T08:00:00Z", ""},
	} {
		p, err := New(c.format, east)
		if err != nil {
			t.Error(err)
			continue
		}
		p.now = func() time.Time { return time.Date(2027, 2, 3, 12, 0, 0, 0, time.UTC) }
		ns, ok := p.Find([]byte(c.line))
		if ok != (c.want != "") || ok && ns != at(c.want) {
			t.Errorf("%s %q: %v, %v; want %s", c.format, c.line, time.Unix(0, ns).UTC(), ok, c.want)
		}
	}
}

func TestWrongFormats(t *testing.T) {
	for _, format := range []string{"", "yes", "rfc", "99"} {
		if _, err := New(format, time.UTC); err == nil {
			t.Errorf("%q is taken", format)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("2027-01-15T08:00:00Z hello")
	f.Add("<34>Feb  3 08:00:00 host")
	f.Add("[15/Jan/2027:08:00:00 +0100]")
	var all []*Parser
	for _, format := range []string{"auto", "iso", "clf", "syslog", "unix", "02.01.2006 15:04:05", "Jan 2 15:04:05.000"} {
		p, err := New(format, time.UTC)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, p)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, p := range all {
			if ns, ok := p.Find([]byte(line)); ok && (ns < 0 || ns == 1<<63-1) {
				t.Errorf("%q: %d", line, ns)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	for name, line := range map[string]string{
		"iso":  "level=info ts=2027-01-15T08:00:00.123456789Z msg=request took=17ms path=/api/v1/items status=200",
		"none": "    at com.example.shop.basket.BasketController.add(BasketController.java:117) [classes/:na]",
	} {
		b.Run("line="+name, func(b *testing.B) {
			p, err := New("auto", time.UTC)
			if err != nil {
				b.Fatal(err)
			}
			text := []byte(line)
			b.ReportAllocs()
			for b.Loop() {
				p.Find(text)
			}
		})
	}
}
