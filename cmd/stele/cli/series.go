package cli

import (
	"cmp"
	"context"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
)

const seriesUsage = `Usage: stele series SELECTOR... [flags]

Lists the labels of the streams that one of the selectors selects and that have lines
in the range: of the server at --addr, or with --data of a store that no process has
open.

Examples:
  stele series '{app="shop"}'
  stele series '{app="api"}' '{app="web"}' --data store --from 0 -o json
`

func seriesCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele series", seriesUsage)
	var a clientFlags
	a.serverFlags(f)
	a.dataFlag(f)
	a.rangeFlags(f, "6h")
	output := f.StringP("output", "o", "text", "`FORMAT` text, or json, an object a line")
	color := colorFlag(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	from, to, err := a.moments(time.Now())
	look, styleErr := newStyle(*color, stdout)
	if err = cmp.Or(a.checkTimeout(), argCount(f, "SELECTOR...", 1, math.MaxInt), err, styleErr, oneOf("--output", *output, "text", "json")); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	return a.ask(ctx, stderr, f.Arg(0), func(c *lokiclient.Client) error {
		list, err := c.Series(ctx, lokiclient.Range{Start: from, End: to}, f.Args())
		if err != nil {
			return err
		}
		slices.SortFunc(list, func(a, b map[string]string) int { return strings.Compare(labelText(a), labelText(b)) })
		enc := newJSONLines(stdout, look)
		for _, labels := range list {
			if *output == "json" {
				err = enc.Encode(labels)
			} else {
				err = printLine(stdout, look.color(sgrCyan, look.plainText(labelText(labels))))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
