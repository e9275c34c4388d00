package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
	"github.com/stele-go/stele/internal/setting"
)

const patternsUsage = `Usage: stele patterns QUERY [flags]

Lists what the lines of a query have in common, with <_> in place of what differs, and
how many lines have it, the most first: of the server at --addr, or with --data of a
store that no process has open. QUERY is a selector, perhaps with line filters.

Examples:
  stele patterns '{app="shop"}'
  stele patterns '{app="api"} |= "error"' --data store --from 0 --limit 20
  stele patterns '{app="api"}' --since 24h --step 1h -o json
`

func patternsCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele patterns", patternsUsage)
	var a clientFlags
	a.serverFlags(f)
	a.dataFlag(f)
	a.rangeFlags(f, "1h")
	limit := f.Int("limit", 100, "most patterns")
	step := f.Duration("step", 0, "length of a step of the counts over time, in json (default a 60th of the range, 10s at least)")
	output := f.StringP("output", "o", "text", "`FORMAT` text, or json, an object a line with the counts over time")
	color := colorFlag(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	from, to, err := a.moments(time.Now())
	look, styleErr := newStyle(*color, stdout)
	if err = cmp.Or(a.checkTimeout(), argCount(f, "QUERY", 1, 1), err, styleErr, oneOf("--output", *output, "text", "json"),
		setting.AtLeast("--limit", *limit, 1), setting.AtLeast("--step", *step, 0)); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	return a.ask(ctx, stderr, f.Arg(0), func(c *lokiclient.Client) error {
		list, err := c.Patterns(ctx, lokiclient.Range{Start: from, End: to, Query: f.Arg(0)}, step.Seconds(), *limit)
		if err != nil {
			return err
		}
		if *output == "json" {
			return encodePatterns(newJSONLines(stdout, look), list)
		}
		return printPatterns(stdout, look, list)
	})
}

// A jsonPattern is a line of the output in JSON.
type jsonPattern struct {
	Pattern string             `json:"pattern"`
	Level   string             `json:"level,omitempty"`
	Lines   int64              `json:"lines"`
	Counts  []jsonPatternCount `json:"counts"`
}

// A jsonPatternCount is how many lines came in a step.
type jsonPatternCount struct {
	Time  string `json:"time"` // at which the step begins
	Lines int64  `json:"lines"`
}

func encodePatterns(enc *json.Encoder, list []lokiclient.Pattern) error {
	for _, p := range list {
		out := jsonPattern{p.Pattern, p.Level, p.Lines(), make([]jsonPatternCount, 0, len(p.Samples))}
		for _, s := range p.Samples {
			out.Counts = append(out.Counts, jsonPatternCount{time.Unix(s[0], 0).UTC().Format(time.RFC3339), s[1]})
		}
		if err := enc.Encode(out); err != nil {
			return err
		}
	}
	return nil
}

func printPatterns(w io.Writer, look style, list []lokiclient.Pattern) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, p := range list {
		fmt.Fprintf(t, "%s\t %s\n", strconv.FormatInt(p.Lines(), 10), look.plainText(p.Pattern))
	}
	return t.Flush()
}
