package logstore_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/stele-go/stele/logstore"
)

// The model test draws everything from few values, so that times, lines and
// streams often coincide.

var modelStreams = []logstore.Labels{
	logstore.MustLabels("app", "api", "host", "a"),
	logstore.MustLabels("app", "api", "host", "b"),
	logstore.MustLabels("app", "api", "host", "b", "level", "error"),
	logstore.MustLabels("app", "api-gateway", "host", "a"),
	logstore.MustLabels("app", "web", "level", "info"),
	logstore.MustLabels("app", "web", "level", "error"),
	logstore.MustLabels("app", "数据库", "host", "ü"),
	logstore.MustLabels("app", "a+b.c", "host", "a"),
	logstore.MustLabels("job", "cron"),
	logstore.MustLabels("job", "cron", "z", strings.Repeat("long ", 60)),
	logstore.MustLabels("host", "a"),
	{}, // refused
	logstore.MustLabels("app", "batch", "host", "c", "level", "debug", "zone", "1"),
}

var modelTenants = []string{"", "a", "b", "tenant ü"}

var modelWords = []string{
	"GET", "get", "error", "Error", "ERROR", "errors", "timeout", "refused", "/api/v1/users", "id=42", "id=4217", "404", "10.0.0.17",
	"用户", "用户登录失败", "登录", "Straße", "STRASSE", "ſtate", "K", "k", "é", "e\u0301", "naïve", "ไทย", "😀", "user_id", "trace-7f3a9c0d2b6e41",
	"a7f3a9c0d2b6e41c8d5f6a7b8c9d0e1f2", "\x00\xff\xfe", "\xc3", "{", "}", "\"msg\":", "\t", "\n", "=", "x",
}

var modelMetadata = []logstore.Labels{
	{}, {}, {}, {},
	logstore.MustLabels("trace", "7f3a9c"),
	logstore.MustLabels("trace", "用户"),
	logstore.MustLabels("trace", "7f3a9c", "span", "01"),
	logstore.MustLabels("span", strings.Repeat("s", 300)),
}

var modelRegexps = []string{
	`err.r`, `(?i)error|REFUSED`, `\d{3}`, `^GET`, `用户`, `(?i)strasse`, `id=4\d+`, `(timeout|refused) `, `a.*b`, `x$`, `^$`, `(?s)G.*T`, `[eé]rror`, ``,
}

var modelLabelRegexps = []string{`api.*`, `api|web`, `a|b`, `.*`, `.+`, ``, `(api|web)?`, `[^a]+`, `a\+b\.c`, `(?i)API`, `数.*`, `err.*|info`}

type generator struct {
	rng *rand.Rand
	// maxLine is Options.MaxLine. If it is large, some lines fill a block, or
	// the memory of a query.
	maxLine int
}

func pick[T any](g *generator, of []T) T { return of[g.rng.IntN(len(of))] }

// tenant draws a tenant, mostly "".
func (g *generator) tenant() string {
	if !g.one(3) {
		return ""
	}
	return pick(g, modelTenants)
}

func (g *generator) tenants(n int) (list []string) {
	for range n {
		list = append(list, g.tenant())
	}
	return list
}

// one returns true once in n calls.
func (g *generator) one(n int) bool { return g.rng.IntN(n) == 0 }

// steps draws the steps of a run.
func (g *generator) steps(n int) []step {
	list := make([]step, n)
	for i := range list {
		list[i] = g.step()
	}
	return list
}

// lineMatches draws the conditions on lines of a deletion: mostly none.
func (g *generator) lineMatches() (list []logstore.LineMatch) {
	for g.one(2) && len(list) < 2 {
		list = append(list, logstore.LineMatch{Op: logstore.MatchOp(g.rng.IntN(4)), Text: pick(g, []string{"e", "a", "o", "1", " "})})
	}
	return list
}

func (g *generator) step() step {
	switch n := g.rng.IntN(100); {
	case n < 28:
		return appendStep{g.tenant(), g.batch(modelStreams, 1+g.rng.IntN(40))}
	case n < 36:
		return namedStep{g.tenant(), g.batch(modelStreams, 1+g.rng.IntN(20)), g.one(2), g.rng.IntN(3), g.rng.IntN(3)}
	case n < 40:
		return retryStep{g.rng.IntN(1000)}
	case n < 43:
		return deleteStep{g.query(), g.lineMatches(), g.one(6)}
	case n < 58:
		return queryStep{g.query()}
	case n < 62:
		return aggregateStep{g.query(), g.aggregation()}
	case n < 66:
		return countStep{g.query(), pick(g, []time.Duration{0, time.Second, 7 * time.Second, time.Hour})}
	case n < 70:
		return seriesStep{g.query(), pick(g, []string{"app", "host", "level", "nowhere"})}
	case n < 71:
		return stopStep{g.query(), g.rng.IntN(20)}
	case n < 72:
		return pagesStep{g.query(), g.rng.Uint64()}
	case n < 79:
		return sealStep{}
	case n < 83:
		if g.one(3) {
			return recodeStep{}
		}
		return compactStep{}
	case n < 84:
		return g.limits()
	case n < 87:
		return advanceStep{pick(g, []time.Duration{time.Second, time.Minute, 20 * time.Minute, 3 * time.Hour})}
	case n < 89:
		return reopenStep{}
	case n < 90:
		return jumpStep{pick(g, []time.Duration{60 * 24 * time.Hour, -24 * time.Hour, 3 * time.Hour}), g.one(2)}
	case n < 92:
		return crashStep{}
	case n < 93:
		return snapshotStep{g.one(2)}
	case n < 95:
		return damageStep{g.rng.IntN(1000), g.rng.IntN(1000), uint(g.rng.IntN(8))}
	case n < 96:
		return g.follow()
	case n < 97:
		n := 1 + g.rng.IntN(4)
		return tailStep{g.query(), g.batches(n), g.tenants(n)}
	}
	return g.parallel()
}

func (g *generator) aggregation() logstore.Aggregation {
	a := logstore.Aggregation{Without: g.one(2), Step: pick(g, []time.Duration{0, 0, time.Second, 7 * time.Second, time.Hour})}
	if a.Step > 0 && g.one(2) {
		a.Offset = time.Duration(g.rng.Int64N(int64(a.Step)))
	}
	for range g.rng.IntN(4) {
		a.By = append(a.By, pick(g, []string{"app", "host", "level", "job", "nowhere"}))
	}
	return a
}

// parallel draws appends of several goroutines, each to streams of its own.
func (g *generator) parallel() step {
	p := parallelStep{seal: g.one(2), compact: g.one(3)}
	for i := range 3 {
		var batches [][]streamSpec
		for range 1 + g.rng.IntN(5) {
			batches = append(batches, g.batch(modelStreams[i*4:i*4+4], 1+g.rng.IntN(15)))
		}
		p.of = append(p.of, batches)
	}
	p.tenants = g.tenants(len(p.of))
	return p
}

func (g *generator) batches(n int) (list [][]streamSpec) {
	for range n {
		list = append(list, g.batch(modelStreams, 1+g.rng.IntN(10)))
	}
	return list
}

func (g *generator) batch(streams []logstore.Labels, most int) []streamSpec {
	batch := make([]streamSpec, g.rng.IntN(4))
	for i := range batch {
		batch[i].labels = pick(g, streams)
		if g.one(20) {
			// Enough that some are far behind the entries that they belong
			// before.
			for range 300 {
				batch[i].entries = append(batch[i].entries, entrySpec{ago: g.ago(), line: pick(g, modelWords)})
			}
			continue
		}
		for range g.rng.IntN(most) {
			batch[i].entries = append(batch[i].entries, entrySpec{ago: g.ago(), line: g.line(), metadata: pick(g, modelMetadata)})
		}
	}
	return batch
}

// ago draws how far a time lies before the clock. Most times are within a
// minute, in whole seconds; some are late, too late, or in the future.
func (g *generator) ago() time.Duration {
	switch g.rng.IntN(12) {
	case 0:
		return time.Duration(g.rng.IntN(100)) * time.Minute
	case 1:
		return -time.Duration(g.rng.IntN(12)) * time.Minute
	case 2:
		return time.Duration(g.rng.Int64N(int64(time.Minute)))
	case 3:
		return pick(g, []time.Duration{time.Hour, time.Hour + 1, 2 * time.Hour, 2*time.Hour + 1, -10 * time.Minute, -10*time.Minute - 1})
	}
	return time.Duration(g.rng.IntN(60)) * time.Second
}

func (g *generator) line() string {
	switch g.rng.IntN(40) {
	case 0:
		return ""
	case 1:
		return strings.Repeat(pick(g, modelWords)+" ", g.rng.IntN(100))
	case 2:
		return strings.Repeat("x", g.maxLine+g.rng.IntN(3)-1)
	case 3:
		b := make([]byte, g.rng.IntN(200))
		for i := range b {
			b[i] = byte(g.rng.Uint32())
		}
		return string(b)
	}
	words := g.rng.IntN(9)
	if g.maxLine > 4<<10 && g.one(4) {
		words = g.maxLine / 16
	}
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteString(pick(g, []string{" ", " ", " ", "", ",", "_"}))
		}
		b.WriteString(pick(g, modelWords))
	}
	return b.String()
}

func (g *generator) query() relQuery {
	q := relQuery{tenant: g.tenant(), order: logstore.Order(g.rng.IntN(2)), limit: pick(g, []int{0, 0, 1, 2, 10, 100})}
	for range pick(g, []int{0, 0, 1, 1, 2}) {
		q.selector = append(q.selector, g.matcher())
	}
	if !g.one(3) {
		q.filter = g.filter(2)
	}
	if g.one(2) {
		q.fromAgo = new(g.ago())
	}
	if g.one(2) {
		q.toAgo = new(g.ago())
	}
	if q.fromAgo != nil && q.toAgo != nil && *q.fromAgo < *q.toAgo {
		q.fromAgo, q.toAgo = q.toAgo, q.fromAgo
	}
	return q
}

func (g *generator) matcher() refMatcher {
	name := pick(g, []string{"app", "app", "host", "level", "job", "zone", "nowhere"})
	switch op := logstore.MatchOp(g.rng.IntN(4)); op {
	case logstore.Matches, logstore.NotMatches:
		return newMatcher(name, op, pick(g, modelLabelRegexps))
	default:
		return newMatcher(name, op, pick(g, []string{"api", "web", "a", "b", "error", "", "数据库", "a+b.c", "nothing"}))
	}
}

func (g *generator) filter(depth int) *refFilter {
	if depth > 0 && g.one(3) {
		f := &refFilter{kind: pick(g, []string{"not", "all", "any"})}
		for range 1 + g.rng.IntN(3) {
			f.of = append(f.of, g.filter(depth-1))
			if f.kind == "not" {
				break
			}
		}
		return f
	}
	kind := pick(g, []string{"contains", "contains", "fold", "word", "regexp", "metadata", "func"})
	f := &refFilter{kind: kind}
	switch kind {
	case "regexp":
		f.re = regexp.MustCompile(pick(g, modelRegexps))
	case "metadata":
		f.on = newMatcher(pick(g, []string{"trace", "span", "nowhere"}), logstore.MatchOp(g.rng.IntN(4)), pick(g, []string{"7f3a9c", "用户", "01", ".*", ""}))
	case "fold":
		f.text = strings.ToValidUTF8(g.needle(), "")
	default:
		f.text = g.needle()
	}
	return f
}

// needle draws a word, a part of one, or of several.
func (g *generator) needle() string {
	s := pick(g, modelWords)
	switch g.rng.IntN(5) {
	case 0:
		s = s[g.rng.IntN(len(s)):]
	case 1:
		s = s[:g.rng.IntN(len(s)+1)]
	case 2:
		s += " " + pick(g, modelWords)
	}
	return s
}

// Printed steps are readable, and can be rebuilt by seed and number.

func (b streamSpec) String() string {
	var list []string
	for i, e := range b.entries {
		if i == 8 {
			list = append(list, fmt.Sprintf("and %d more", len(b.entries)-i))
			break
		}
		list = append(list, e.String())
	}
	return fmt.Sprintf("%.60v: %s", b.labels, strings.Join(list, ", "))
}

func (e entrySpec) String() string {
	s := fmt.Sprintf("(%v ago, %.40q", e.ago, e.line)
	if len(e.line) > 40 {
		s += fmt.Sprintf("...%d bytes", len(e.line))
	}
	if e.metadata.Len() > 0 {
		s += fmt.Sprintf(", %.40v", e.metadata)
	}
	return s + ")"
}
