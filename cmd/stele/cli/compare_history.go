package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
)

// check refuses flags that do not belong together.
func (g *gateFlags) check(f *pflag.FlagSet) error {
	if g.history == "" {
		if g.svg != "" {
			return errors.New("--svg: want --history with it")
		}
		return nil
	}
	for _, name := range []string{"tolerance", "force"} {
		if f.Changed(name) {
			return fmt.Errorf("--%s: want none with --history, which judges nothing", name)
		}
	}
	if f.NArg() > 0 {
		return setting.Wrong("--history "+g.history, f.Arg(0), "no file besides: all runs are those in the directory")
	}
	return nil
}

// showHistory writes the history of the directory.
func (g *gateFlags) showHistory(ctx context.Context, stdout io.Writer) error {
	entries, err := os.ReadDir(g.history)
	if err != nil {
		return fmt.Errorf("--history: %w", err)
	}
	var names []string
	var runs []*run.Run
	var errs []error
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".json" {
			continue
		}
		r, err := readRun(ctx, filepath.Join(g.history, e.Name()), nil)
		names, runs, errs = append(names, e.Name()), append(runs, r), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(runs) == 0 {
		return setting.Wrong("--history", g.history, "a directory with runs, *.json")
	}
	h := run.NewHistory(names, runs, run.HistoryOptions{Absolute: g.absolute})
	if len(h.Series) == 0 {
		return fmt.Errorf("--history: %s: no variant has a baseline to be shown beside; --absolute shows times", g.history)
	}
	if g.jsonFile == "" && g.markdown != "-" && g.svg != "-" {
		errs = append(errs, report.History(stdout, h))
	}
	if g.jsonFile != "" {
		errs = append(errs, writeJSON(g.jsonFile, stdout, h))
	}
	for _, out := range []struct {
		name  string
		write func(io.Writer, *run.History) error
	}{{g.markdown, report.HistoryMarkdown}, {g.svg, report.HistorySVG}} {
		if out.name != "" {
			errs = append(errs, writeFile(out.name, stdout, func(w io.Writer) error { return out.write(w, h) }))
		}
	}
	return errors.Join(errs...)
}
