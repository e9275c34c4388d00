package loglevel

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// A recorded level is what Loki 3.7.8 has said of an entry: of a line, and the metadata and
// labels that it came with.
type recorded struct {
	level, line      string
	metadata, labels map[string]string
}

func recordedLevels(t testing.TB) (list []recorded) {
	t.Helper()
	text, err := os.ReadFile("testdata/loki.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][4]json.RawMessage
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		var r recorded
		for i, to := range []any{&r.level, &r.line, &r.metadata, &r.labels} {
			if err := json.Unmarshal(row[i], to); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, r)
	}
	return list
}

// of returns the level of an entry, as package lokipush puts it together.
func (r *recorded) of() string {
	if v := r.metadata["detected_level"]; v != "" {
		return OfValue(0, v)
	}
	for i, pairs := range []map[string]string{r.labels, r.metadata} {
		best, value := RankNumber+i, ""
		for n, v := range pairs {
			if rank := Rank(n); rank > 0 && rank < best && v != "" {
				best, value = rank, v
			}
		}
		if value != "" {
			return OfValue(best, value)
		}
	}
	if level := OfLine([]byte(r.line)); level != "" {
		return level
	}
	return Unknown
}

func TestRecorded(t *testing.T) {
	for _, r := range recordedLevels(t) {
		if got := r.of(); got != r.level {
			t.Errorf("%q, metadata %v, labels %v: %s; Loki says %s", r.line, r.metadata, r.labels, got, r.level)
		}
	}
}

func FuzzOfLine(f *testing.F) {
	for _, r := range recordedLevels(f) {
		f.Add([]byte(r.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if level := OfLine(line); level != "" && !strings.Contains(strings.Join(Known(), " "), level) {
			t.Errorf("%q: %s", line, level)
		}
	})
}

func BenchmarkOfLine(b *testing.B) {
	for name, line := range map[string]string{
		"json":   `{"ts":"2026-01-05T08:00:00Z","caller":"api/handler.go:120","msg":"request served in 13 ms","user":"u-1234","level":"info","status":200,"path":"/v1/items"}`,
		"logfmt": `ts=2026-01-05T08:00:00Z caller=api/handler.go:120 msg="request served in 13 ms" user=u-1234 level=info status=200 path=/v1/items`,
		"text":   `10.1.2.3 - - [05/Jan/2026:08:00:00 +0000] "GET /v1/items?page=3 HTTP/1.1" 200 5120 "-" "curl/8.5.0" 0.013 upstream 10.9.8.7:8080`,
	} {
		b.Run("form="+name, func(b *testing.B) {
			p := []byte(line)
			for b.Loop() {
				OfLine(p)
			}
		})
	}
}
