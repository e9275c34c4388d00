package prefilter_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/logql/internal/pipeline"
	"github.com/stele-go/stele/logql/internal/prefilter"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A part of a query, of which the random ones are made.
var stageTexts = []string{
	`|= "500"`, `!= "error"`, `|= "a" or "b"`, `|~ "err.r|time"`, `!~ "(?i)ERROR"`, `|~ "(?i)Error"`, `|> "<_>status<_>"`, `!> "<_>x<_>"`,
	`| json`, `| logfmt`, `| logfmt --strict`, `| logfmt --keep-empty`, `| logfmt --strict --keep-empty`, `| json code="status"`, `| logfmt code="status"`, `| pattern "<a> <b>"`, `| regexp "(?P<status>[0-9]+)"`, `| unpack`,
	`| status="500"`, `| status=~"500|404"`, `| status>=500`, `| status<300`, `| status=200`, `| status!="500"`, `| code="500"`, `| level="error"`, `| level_extracted="error"`,
	`| app="api"`, `| app_extracted="x"`, `| trace="abc"`, `| trace="abc" or status=500`, `| status>=500 and took>5`, `| took>5 and status="500"`, `| msg="a b"`, `| msg=~"err.*"`,
	`| http_status>=500`, `| http_status<300`, `| http_status=500 or a_status>1`, `| took>1s`, `| took<=1m30s`, `| http_took!=2s`, `| size>1KB`, `| size<2MiB`, `| status>1s`, `| took>=5`,
	`| msg=~".*err.+"`, `| level=~"err.*|wa.+"`, `| trace=~"a.c"`, `| http_status=~"5[0-9]+.*|.*40."`, `| level_extracted=~"er.+r"`, `| status_extracted>1`, `| took_extracted>1s`, `| app_extracted=~"x.?"`, `| level=~"(?i)error.*"`,
	`| __error__=""`, `| __error__!=""`, `| line_format "{{.status}} {{.level}}"`, `| label_format status=level`, `| label_format level="{{.status}}"`, `| drop status`, `| keep level`, `| decolorize`,
}

var linePieces = []string{
	`{`, `}`, `{"status":500}`, `{"status":200,"level":"error"}`, `"status"`, `:`, `500`, `,`, `"level":"\u0065rror"`, `"st\u0061tus":500`, `"status":"50\u0030"`, `{"status":"\u003500"}`, `{"status":"\u0035\u0030\u0030","level":"\u0065rr\u006Fr"}`, `status="5\u00300"`, `"status": 404 `,
	` `, `status=500`, `status=200`, `status="500"`, `level=error`, `level="err\u006fr"`, `took=7`, `took=x`, `status`, `status `, `status foo=1`, `msg="a b"`, `error`, `ERROR`, `timeout`, `a`, `b`, `x`, `=`, `"`, `\`, `{"a":{"status":500}}`,
	`{"http_status":500}`, `{"http":{"status":500}}`, `{"http":{"status":200,"took":"2s"}}`, `{"http.status":"404"}`, `"http-status":`, `http_status=500`, `http.status=200`, `httpéstatus=501`, `status_=5`, `a.status=2`,
	`took=2s`, `took=250ms`, `took="1m"`, `took="1s"x`, `"took":"3s"`, `"took":"x s"`, `size=5kB`, `size="1 KB"`, `"size":"3MiB",`, `size=1,024`, `"status":{"":500}`, `"status ":500`, `{"msg":"an error here"}`, `{"msg":"error"}`, "\t", `took=`, `took=""`,
	`{"status":[500]}`, `{"app":"x","trace":"abc"}`, "\x1b[31merror\x1b[0m", `status=500status=1`, `"_entry":"status=500"`, `"took":9`, `{"status":500,"took":"x"}`, "\xff", `{"status":5e2}`,
}

// What the store tests and what is left for the pipeline are together what the stages are.
func TestSplitIsExact(t *testing.T) {
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 1))
	streams := []logstore.Labels{logstore.MustLabels("app", "api"), logstore.MustLabels("app", "web", "level", "error"), logstore.MustLabels("job", "x")}
	metadata := []logstore.Labels{{}, {}, logstore.MustLabels("trace", "abc"), logstore.MustLabels("status", "500"), logstore.MustLabels("app", "x", "level", "error"), logstore.MustLabels("http_status", "500", "took", "3s")}
	for range 3000 {
		query := `{app="api"}`
		for range 1 + r.IntN(4) {
			query += " " + stageTexts[r.IntN(len(stageTexts))]
		}
		stages := parse(t, query)
		stream := streams[r.IntN(len(streams))]
		split := prefilter.Of(stages, func(label string) bool { return stream.Get(label) != "" }, nil)
		whole, rest := start(t, query, stages, pipeline.Options{AllLabels: true}, stream), start(t, query, split.Rest, pipeline.Options{}, stream)
		for range 20 {
			line := ""
			for range 1 + r.IntN(6) {
				line += linePieces[r.IntN(len(linePieces))]
			}
			md := metadata[r.IntN(len(metadata))]
			want := whole(line, md)
			got := (split.Filter == nil || split.Filter.Match([]byte(line), md)) && rest(line, md)
			if got != want {
				t.Fatalf("seed %d: %s\nstream %v, line %q, metadata %v: split %v, whole %v\nexact %q\nneeded %q", seed, query, stream, line, md, got, want, split.Exact, split.Needed)
			}
		}
	}
}

func parse(t *testing.T, query string) []syntax.Stage {
	t.Helper()
	log, err := syntax.ParseLog(query)
	if err != nil {
		t.Fatal(err)
	}
	return log.Stages
}

// start returns whether stages let a line of a stream pass.
func start(t *testing.T, query string, stages []syntax.Stage, o pipeline.Options, stream logstore.Labels) func(string, logstore.Labels) bool {
	t.Helper()
	p, err := pipeline.Compile(stages, o)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", query, err))
	}
	run := p.NewRun()
	passes := run.Stream(stream)
	return func(line string, md logstore.Labels) bool { return passes && run.Process(1, []byte(line), md) }
}
