package follow

import (
	"slices"
	"strings"
	"testing"
)

func TestIsGeneration(t *testing.T) {
	for _, c := range []struct {
		path, yes, no string
	}{
		{"d/app.log", "app.log.1 app.log.12.gz app.log-20270115 app.log-20270115.gz app.log.2027-01-15 app.log.2027-01-15T08:00:00Z.zst app.log.old app.log.gz" +
			" app-2027-01-01T00-00-00.000.log app-2027-01-01T00-00-00.000.log.gz app-20270115.log.xz app.2027-01-15.log app.2027-01-15-1.log app.1.log",
			"app.log.audit app.log.1.audit app.log2 app.log-2 app-2.log app-web.log app.logger api-20270115.log app.err app.log.audit.1 app-web-20270115.log"},
		{"d/mail", "mail.1 mail.2.gz mail-20270115", "mail.err mail.info mailer mail-2 mail.err.1"},
		{"d/.log", ".log.1", "a.log"},
	} {
		for _, name := range strings.Fields(c.yes) {
			if !IsGeneration("d/"+name, c.path) {
				t.Errorf("%s is not of %s", name, c.path)
			}
			if bases := Bases("d/" + name); !slices.Contains(bases, c.path) {
				t.Errorf("%s is of %q, want %s too", name, bases, c.path)
			}
			if IsGeneration("e/"+name, c.path) {
				t.Errorf("e/%s is of %s", name, c.path)
			}
		}
		for _, name := range append(strings.Fields(c.no), strings.TrimPrefix(c.path, "d/")) {
			if IsGeneration("d/"+name, c.path) {
				t.Errorf("%s is of %s", name, c.path)
			}
			if slices.Contains(Bases("d/"+name), c.path) {
				t.Errorf("%s has the base %s", name, c.path)
			}
		}
	}
}

func TestOlderFirst(t *testing.T) {
	want := []string{"app.log.10.gz", "app.log.9", "app.log.2.gz", "app.log.1"}
	if got := slices.SortedFunc(slices.Values([]string{want[2], want[0], want[3], want[1]}), OlderFirst); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	want = []string{"app-2026-12-31.log.gz", "app-2027-01-01.log", "app-2027-01-02.log"}
	if got := slices.SortedFunc(slices.Values([]string{want[2], want[0], want[1]}), OlderFirst); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
