package settings

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// load loads a file, if it has text, in an environment, with flags.
func load(t *testing.T, file string, environ, flags []string) (*Settings, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	name := ""
	if file != "" {
		name = "stele.yaml"
		if err := os.WriteFile(name, []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	AddFlags(f)
	if err := f.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return Load(f, environ, name)
}

func TestPrecedence(t *testing.T) {
	file := "listen: 127.0.0.1:1\nretention: 7d\nmemory: 512M\ntenants: true\nhosts: [a, b.example]\n" +
		"tenant_limits:\n  team.a: {retention: 1d, max_streams: 5}\n"
	s, err := load(t, file, []string{"STELE_LISTEN=127.0.0.1:2", "STELE_RETENTION=14d", "STELE_UNKNOWN=x", "STELE_DISCOVER_SERVICE_NAME=app,job", "PATH=/"},
		[]string{"--listen", "127.0.0.1:3", "--max-query-lines", "7", "--discover-log-levels"})
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{Listen: "127.0.0.1:3", Retention: 14 * day, Memory: 512 << 20, Tenants: true, DiscoverLogLevels: true}
	if s.Listen != want.Listen || s.Retention != want.Retention || s.Memory != want.Memory || !s.Tenants || s.Query.Lines != 7 || !s.DiscoverLogLevels {
		t.Errorf("%+v", s)
	}
	if !reflect.DeepEqual(s.Hosts, []string{"a", "b.example"}) || !reflect.DeepEqual(s.DiscoverServiceName, []string{"app", "job"}) {
		t.Errorf("%q %q", s.Hosts, s.DiscoverServiceName)
	}
	if !reflect.DeepEqual(s.TenantLimits, map[string]TenantLimits{"team.a": {Retention: day, MaxStreams: 5}}) {
		t.Errorf("%+v", s.TenantLimits)
	}
	if limits := s.Store().Tenants("team.a"); limits.Retention != day || limits.MaxStreams != 5 {
		t.Errorf("%+v", limits)
	}
	if s.LateWindow != -1 || s.FutureWindow != 10*time.Minute {
		t.Errorf("windows %v %v", s.LateWindow, s.FutureWindow)
	}
}

func TestLimitsOfTenantsAsAFlag(t *testing.T) {
	for _, c := range []struct{ environ, flags []string }{
		{nil, []string{"--tenant-limits", "{a: {max_sources: 3}}"}},
		{[]string{"STELE_TENANT_LIMITS=a: {max_sources: 3}"}, nil},
	} {
		s, err := load(t, "", c.environ, c.flags)
		if err != nil || s.TenantLimits["a"].MaxSources != 3 {
			t.Errorf("%v: %+v, %v", c, s, err)
		}
	}
}

func TestWrongSettings(t *testing.T) {
	for _, c := range []struct {
		file           string
		environ, flags []string
		want           string
	}{
		{file: "listen: a\nretention: 5 days\n", want: `stele.yaml:2: retention: "5 days"; want a time such as 30s, 5m, 1h30m or 7d`},
		{file: "\n\nlisten: a\nlimit: 3\n", want: "stele.yaml:4: limit: no such setting; 'stele serve --print-config' lists all"},
		{file: "query-timeout: 3s\n", want: "stele.yaml:1: query-timeout: no such setting; want query_timeout, with underscores"},
		{file: "listen: a\nlisten: b\n", want: "stele.yaml:2: listen: given twice; it is in line 1 already"},
		{file: "listen: [\n", want: "stele.yaml: line 1: did not find expected node content"},
		{file: "- listen\n", want: `stele.yaml:1: want settings such as "listen: 127.0.0.1:3100"`},
		{file: "listen: a\n---\nlisten: b\n", want: "stele.yaml: more than one document; want one"},
		{file: "memory: lots\n", want: `stele.yaml:1: memory: "lots"; want a size such as 4096, 512M or 2GiB`},
		{file: "tenants: maybe\n", want: `stele.yaml:1: tenants: "maybe"; want true or false`},
		{file: "level: none\n", want: `stele.yaml:1: level: "none"; want power or kill`},
		{file: "max_query_lines: -1\n", want: `stele.yaml:1: max_query_lines: "-1"; want a whole number from 0 to 2147483647`},
		{file: "hosts: {a: b}\n", want: `stele.yaml:1: hosts: "map[a:b]"; want a list of words`},
		{file: "tenant_limits:\n  a:\n    retention: 1d\n    max_streams: many\n", want: `stele.yaml:4: tenant_limits.a.max_streams: "many"; want a whole number from 0 to 2147483647`},
		{file: "tenant_limits:\n  a: {retain: 1d}\n", want: `stele.yaml:2: tenant_limits.a.retain: no such limit; want retention, max_streams or max_sources`},
		{file: "tenant_limits:\n  a: 7d\n", want: `stele.yaml:2: tenant_limits.a: "7d"; want limits such as {retention: 7d, max_streams: 1000}`},
		{environ: []string{"STELE_MEMORY=x"}, want: `STELE_MEMORY: "x"; want a size such as 4096, 512M or 2GiB`},
		{environ: []string{"STELE_TENANT_LIMITS={a: {max_streams: x}}"}, want: `STELE_TENANT_LIMITS: a.max_streams: "x"; want a whole number from 0 to 2147483647`},
		{flags: []string{"--query-timeout", "0s"}, want: `--query-timeout: "0s"; want 1ms or more`},
		{flags: []string{"--late-window", "all"}, want: `--late-window: "all"; want a time such as 30s, 5m, 1h30m or 7d`},
		{flags: []string{"--tenant-limits", "x"}, want: `--tenant-limits: "x"; want limits of tenants such as {NAME: {retention: 7d, max_streams: 1000}}`},
	} {
		_, err := load(t, c.file, c.environ, c.flags)
		if err == nil || err.Error() != c.want {
			t.Errorf("%+v:\n got %v\nwant %s", c, err, c.want)
		}
	}
	if _, err := Load(pflag.NewFlagSet("", 0), nil, filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.Contains(err.Error(), "--config: open ") {
		t.Error(err)
	}
}

// What Print writes is what Load reads.
func TestPrintedSettingsAreRead(t *testing.T) {
	for _, flags := range [][]string{
		nil,
		{"--data", `a "b": c`, "--late-window", "1h", "--background-rate", "unlimited", "--retention", "1w12h", "--hosts", "a,b", "--tenants",
			"--tenant-limits", "{a: {retention: 90m, max_streams: 1, max_sources: 2}}", "--memory", "1000001", "--max-line", "1MiB"},
	} {
		s, err := load(t, "", nil, flags)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := s.Print(&b); err != nil {
			t.Fatal(err)
		}
		again, err := load(t, b.String(), nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, &b)
		}
		if s.Hosts == nil && again.Hosts == nil && !reflect.DeepEqual(s.TenantLimits, again.TenantLimits) && len(again.TenantLimits) > 0 {
			t.Errorf("%v %v", s.TenantLimits, again.TenantLimits)
		}
		again.TenantLimits, s.TenantLimits = nil, nil
		again.origins, s.origins = nil, nil
		if !reflect.DeepEqual(s, again) {
			t.Errorf("printed\n%+v\nread\n%+v", s, again)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "5m": 5 * time.Minute, "7d": 7 * day, "1w12h": 7*day + 12*time.Hour, "1y": 365 * day, "2d30m": 2*day + 30*time.Minute, "1.5h": 90 * time.Minute,
	} {
		got, err := ParseDuration(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
		if again, err := ParseDuration(FormatDuration(got)); err != nil || again != got {
			t.Errorf("%v is written as %s: %v, %v", got, FormatDuration(got), again, err)
		}
	}
	for _, text := range []string{"", "d", "7", "1h7d", "-1d", "1d-1h", "400y", "1.5d", "7dd"} {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
}
