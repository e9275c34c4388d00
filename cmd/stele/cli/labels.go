package cli

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
)

const labelsUsage = `Usage: stele labels [NAME] [flags]

Lists the names of the labels of all streams with lines in the range, or the values of
the label NAME: of the server at --addr, or with --data of a store that no process
has open.

Examples:
  stele labels
  stele labels app --since 7d
  stele labels app --data store --query '{app="api"}' --from 0 -o json
`

func labelsCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele labels", labelsUsage)
	var a clientFlags
	a.serverFlags(f)
	a.dataFlag(f)
	a.rangeFlags(f, "6h")
	selector := f.String("query", "", "only those of the streams of a `SELECTOR` such as {app=\"api\"}")
	output := f.StringP("output", "o", "text", "`FORMAT` text, a line each, or json, a list")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	from, to, err := a.moments(time.Now())
	if err = cmp.Or(a.checkTimeout(), argCount(f, "NAME", 0, 1), err, oneOf("--output", *output, "text", "json")); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	r := lokiclient.Range{Start: from, End: to, Query: *selector}
	return a.ask(ctx, stderr, *selector, func(c *lokiclient.Client) (err error) {
		var list []string
		if f.NArg() == 1 {
			list, err = c.LabelValues(ctx, f.Arg(0), r)
		} else {
			list, err = c.Labels(ctx, r)
		}
		if err != nil {
			return err
		}
		look := plainStyle(stdout)
		if *output == "json" {
			if list == nil {
				list = []string{}
			}
			return newJSONLines(stdout, look).Encode(list)
		}
		for _, v := range list {
			if err := printLine(stdout, look.plainText(v)); err != nil {
				return err
			}
		}
		return nil
	})
}
