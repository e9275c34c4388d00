package syntax

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
)

// differsFromLoki says of queries above why Loki 3.7.8 answers otherwise.
var differsFromLoki = map[string]string{
	"{app=\"api\",}": "a comma may end a selector",
	"{über=\"x\", App=\"y\"} | JSON | Level=\"x\" OR b=\"y\" | LINE_FORMAT \"z\"":                               "Loki writes what it does not read",
	"SUM BY (A) (Rate({app=\"x\"} | UNWRAP Duration(a) [5m] OFFSET 1m)) > BOOL ON (b) GROUP_LEFT (c) VECTOR(1)": "1m is 1m0s",
	"{app=\"api\"} | json=\"x\" | line_format>5 | unwrap=3":                                                     "labels may have the names of stages",
	"{app=\"api\"} | (json!=\"x\") | (unwrap!~\"x\" or a=1)":                                                    "labels may have the names of stages",
	"{app=\"api\"} | a=1 and b!=2.5 , c>=-3 d<1h30m or e<=20MB":                                                 "1h30m is 1h30m0s",
	"{app=\"api\"} | took>1.5s | size>1.5KiB | took>-5m":                                                        "sizes are rounded",
	"rate({app=\"api\"}[1w] offset 1h)":                                                                         "1h is 1h0m0s",
	"rate({app=\"api\"}[5m] offset -5m |= \"x\" | json)":                                                        "5m is 5m0s",
	"avg_over_time({app=\"api\"} | unwrap duration_seconds(a) [5m]) without ()":                                 "it is duration()",
	"vector(1) or vector(-2.5)":                                                                                 "numbers may have a sign",
	"0x1f":                                                                                                      "numbers may be hexadecimal",
	"1 + 2 * 3 ^ 4 ^ 5 - 6":                                                                                     "Loki writes what it does not read",
	"1/0":                                                                                                       "Loki writes what it does not read",
	"vector(1) + 2 / 0":                                                                                         "Loki writes what it does not read",
	"vector(1) + on (a) 1":                                                                                      "on means nothing beside a number",
	"vector(1) / ignoring () group_right vector(2)":                                                             "Loki writes another query",
	"vector(1) / on (a) group_left (vector(2))":                                                                 "parentheses may follow group_left",
	"{app=\"x\"} |~ \"(a{1000}){99}\"":                                                                          "Loki refuses it later",
	"{app=\"x\"} |~ ip(\"1.1.1.1\")":                                                                            "Loki refuses it later",
	"{app=\"x\"} | label_format a=b, a=c":                                                                       "Loki refuses it later",
	"{app=\"x\"} | label_format __error__=c":                                                                    "Loki refuses it later",
	"rate({app=\"x\"}[0s])":                                                                                     "Loki divides by 0",
	"sum(1)":                                                                                                    "Loki refuses it later",
	"vector(1) + bool vector(1)":                                                                                "it means nothing",
	"vector(1) and on (a) group_left () vector(1)":                                                              "it means nothing",
	"variants(count_over_time({app=\"x\"}[5m])) of ({app=\"x\"}[5m])":                                           "Loki has it off by default",
	"label_replace(vector(1), \"a b\", \"\", \"\", \"\")":                                                       "Prometheus refuses it too",
}

// TestFormatAsLoki compares with a running Loki: LOKI_ADDR=http://127.0.0.1:3100.
func TestFormatAsLoki(t *testing.T) {
	addr := os.Getenv("LOKI_ADDR")
	if addr == "" {
		t.Skip("LOKI_ADDR names no Loki")
	}
	queries := []string{}
	for _, c := range roundTrips {
		queries = append(queries, c.query)
	}
	for _, c := range wrongQueries {
		if len(c.query) < 1000 {
			queries = append(queries, c.query)
		}
	}
	if file := os.Getenv("LOKI_QUERIES"); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		queries = strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	for _, q := range queries {
		want, ok := lokiFormat(t, addr, q)
		e, err := Parse(q)
		if differsFromLoki[q] != "" || strings.HasPrefix(q, "(sum by (namespace, pod)") { // parentheses
			continue
		}
		switch {
		case ok && err != nil:
			t.Errorf("%s\nLoki accepts it: %v", q, err)
		case !ok && err == nil:
			t.Errorf("%s\nLoki refuses it: %s", q, want)
		case ok && Format(e) != want:
			t.Errorf("%s\n got\n%s\nwant\n%s", q, Format(e), want)
		}
	}
}

func lokiFormat(t *testing.T, addr, query string) (string, bool) {
	t.Helper()
	r, err := http.PostForm(addr+"/loki/api/v1/format_query", url.Values{"query": {query}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var answer struct{ Data, Error string }
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.Data + answer.Error, r.StatusCode == http.StatusOK
}
