package pipeline

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

const (
	jsonLine   = `{"time":"2026-03-01T10:00:47.123Z","level":"error","msg":"request \"GET /api\" failed","status":500,"took":"1.25s","user":{"id":42,"name":"bob"},"tags":["a","b"],"size":2048,"ok":false}`
	logfmtLine = `ts=2026-03-01T10:00:47Z level=error caller=auth.go:37 msg="user alice logged in" user=alice addr=10.0.1.12:1919 took=1m3s size=3.2MB status=404 value=58.388`
	nginxLine  = `10.0.0.10 - bob [01/Mar/2026:10:59:59 +0000] "GET /api/orders/17 HTTP/1.1" 200 11116 "-" "Mozilla/5.0 (X11; Linux)" 0.738`
)

var benches = []struct {
	name, line, stages string
	need               []string // nil: all
}{
	{"contains", nginxLine, `|= "orders"`, []string{}},
	{"or", nginxLine, `|= "nothing" or "orders"`, []string{}},
	{"regexp", nginxLine, `|~ "[0-9]+\\.[0-9]{3}$"`, []string{}},
	{"regexp_alternation", nginxLine, `|~ "(?i)timeout|refused|denied|orders"`, []string{}},
	{"line_pattern", nginxLine, `|> "<_> - <_> [<_>"`, []string{}},
	{"ip", nginxLine, `|= ip("10.0.0.0/8")`, []string{}},
	{"json_all", jsonLine, `| json`, nil},
	{"json_filter", jsonLine, `| json | status >= 500`, []string{}},
	{"json_filter_text", jsonLine, `| json | level="error"`, []string{}},
	{"json_nested", jsonLine, `| json | user_name="bob"`, []string{}},
	{"json_path", jsonLine, `| json name="user.name" | name="bob"`, []string{}},
	{"logfmt_all", logfmtLine, `| logfmt`, nil},
	{"logfmt_filter", logfmtLine, `| logfmt | status >= 400`, []string{}},
	{"logfmt_fields", logfmtLine, `| logfmt status, took | took > 1s`, []string{}},
	{"pattern", nginxLine, `| pattern "<ip> - <user> [<_>] \"<method> <path> <_>\" <status> <size>" | status="200"`, []string{}},
	{"label_filters", logfmtLine, `| logfmt | level=~"error|warn" and took > 1s or size > 1MB | addr=ip("10.0.0.0/8") | user!~"b.*"`, []string{}},
	{"line_format", logfmtLine, `| logfmt | line_format "{{.level}}: {{.msg}}"`, []string{}},
	{"label_format", logfmtLine, `| logfmt | label_format who=user, what="{{.level}}/{{.status}}"`, []string{"who", "what"}},
	{"choices", logfmtLine, `| logfmt | drop ts, caller | keep level, status="404", user`, nil},
	{"decolorize", "\x1b[31mred\x1b[0m " + logfmtLine, `| decolorize`, []string{}},
	{"regexp_stage", nginxLine, `| regexp "(?P<ip>\\S+) .*\"(?P<method>\\w+) (?P<path>[^ ]+) HTTP/[0-9.]+\" (?P<status>\\d+)" | status="200"`, []string{"ip", "method"}},
	{"regexp_stage_all", nginxLine, `| regexp "(?P<ip>\\d+\\.\\d+\\.\\d+\\.\\d+)"`, nil},
	{"durations", logfmtLine, `| logfmt | took > 1s and took != 2h or took <= 5ms`, []string{}},
	{"durations_days", logfmtLine, `| logfmt | label_format long="30h1m" | long > 1d`, []string{}},
	{"sizes", logfmtLine, `| logfmt | size > 1MB and size < 4GiB`, []string{}},
	{"ip_label", logfmtLine, `| logfmt | addr=ip("10.0.0.0-10.0.2.255")`, []string{}},
	{"ip_line", logfmtLine, `!= ip("2001:db8::/32") |= ip("10.0.1.12")`, []string{}},
	{"no_number", logfmtLine, `| logfmt | user > 3 or msg > 1s`, []string{}},
	{"broken_json", `{"level":"error","msg":`, `| json`, nil},
	{"not_a_number", logfmtLine, `| logfmt | value != 3 | drop __error__`, nil},
	{"unwrap", logfmtLine, `| logfmt | unwrap duration(took)`, []string{"level"}},
}

func benchRun(t testing.TB, stages string, need []string) *Run {
	t.Helper()
	p, _, err := compileText(stages, Options{Need: need, AllLabels: need == nil})
	if err != nil {
		t.Fatal(err)
	}
	r := p.NewRun()
	r.Stream(logstore.MustLabels("app", "api", "env", "prod"))
	return r
}

var byLevel = &syntax.Grouping{Labels: []string{"level", "app"}}

func TestAllocatesNothing(t *testing.T) {
	metadata := []logstore.Labels{logstore.MustLabels("trace", "1", "app", "x"), logstore.MustLabels("trace", "2"), {}}
	for _, b := range benches {
		t.Run(b.name, func(t *testing.T) {
			r := benchRun(t, b.stages, b.need)
			line := []byte(b.line)
			var key []byte
			i := 0
			if n := testing.AllocsPerRun(100, func() {
				i++
				if !r.Process(1, line, metadata[i%len(metadata)]) {
					t.Fatal("the line does not pass")
				}
				key = r.AppendKey(key[:0], nil)
				key = r.AppendKey(key, byLevel)
				r.Each(func(string, []byte, LabelClass) {})
			}); n != 0 {
				t.Errorf("%v allocations a line", n)
			}
		})
	}
}

func BenchmarkProcess(b *testing.B) {
	for _, c := range benches {
		b.Run("stages="+c.name, func(b *testing.B) {
			r := benchRun(b, c.stages, c.need)
			line := []byte(c.line)
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				r.Process(1, line, logstore.Labels{})
			}
		})
	}
}

// BenchmarkStandard is what the standard library takes for the work of json_all, and of a parser by a
// regular expression.
func BenchmarkStandard(b *testing.B) {
	line := []byte(jsonLine)
	b.Run("by=encoding/json", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			var m map[string]any
			if err := json.Unmarshal(line, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by=regexp", func(b *testing.B) {
		re := regexp.MustCompile(`[0-9]+\.[0-9]{3}$`)
		for b.Loop() {
			re.MatchString(nginxLine)
		}
	})
}

func BenchmarkKey(b *testing.B) {
	r := benchRun(b, "| logfmt", nil)
	r.Process(1, []byte(logfmtLine), logstore.Labels{})
	var key []byte
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			key = r.AppendKey(key[:0], nil)
		}
	})
	b.Run("by", func(b *testing.B) {
		for b.Loop() {
			key = r.AppendKey(key[:0], byLevel)
		}
	})
}
