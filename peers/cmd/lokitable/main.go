// Command lokitable records what Loki answers to the queries and requests that Stele's
// tests compare with.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/stele-go/stele/peers/loki"
)

const usage = `Usage: lokitable [flags]

Starts Loki, pushes data that is the same each time, asks the queries of
peers/loki/queries.txt, and writes

  logql/testdata/loki/data.jsonl              the data
  logql/testdata/loki/answers.jsonl           the queries with Loki's answers
  logql/testdata/loki/answers-discover.jsonl  those of discover.txt, with service_name
                                              and detected_level discovered
  server/testdata/loki/exchanges.jsonl        a request to each endpoint, and the response
  server/testdata/loki/tails.jsonl            what tails get first

Without --loki it builds Loki from its module first, which takes minutes.

Examples:
  lokitable --root ..
  lokitable --root .. --loki ~/bin/loki --only exchanges
  lokitable --loki ~/bin/loki --only serve

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := options{}
	flag.StringVar(&o.root, "root", "..", "the top of Stele's tree, below which files are written")
	flag.StringVar(&o.binary, "loki", "", "a loki binary of the version "+loki.Version)
	flag.StringVar(&o.only, "only", "", "do only one: answers, discover, exchanges, or serve, which writes nothing and lets Loki run with the data until it is interrupted")
	flag.Usage = func() { fmt.Fprint(flag.CommandLine.Output(), usage); flag.PrintDefaults() }
	flag.Parse()
	if err := record(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "lokitable:", err)
		os.Exit(1)
	}
}

type options struct{ root, binary, only string }

func record(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "lokitable")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.binary == "" {
		fmt.Fprintln(os.Stderr, "building Loki", loki.Version)
		if o.binary, err = loki.Build(ctx, dir, "loki"); err != nil {
			return err
		}
	}
	if o.only == "serve" {
		return serve(ctx, o.binary, dir)
	}
	answers := filepath.Join(o.root, "logql", "testdata", "loki")
	if err := loki.WriteLines(filepath.Join(answers, "data.jsonl"), loki.Data()); err != nil {
		return err
	}
	for _, part := range []struct {
		name, file string
		discover   bool
	}{
		{"exchanges", filepath.Join(o.root, "server", "testdata", "loki", "exchanges.jsonl"), false},
		{"answers", filepath.Join(answers, "answers.jsonl"), false},
		{"discover", filepath.Join(answers, "answers-discover.jsonl"), true},
	} {
		if o.only != "" && o.only != part.name {
			continue
		}
		if err := recordPart(ctx, o.binary, filepath.Join(dir, part.name), part.name, part.file, part.discover); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// recordPart starts a Loki of its own for a file.
func recordPart(ctx context.Context, binary, dir, name, file string, discover bool) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	p, err := loki.Start(ctx, binary, dir, discover)
	if err != nil {
		return err
	}
	defer p.Stop()
	fmt.Fprintln(os.Stderr, name+": pushing")
	if err := p.Push(ctx, loki.Data()); err != nil {
		return err
	}
	if name == "exchanges" {
		all, err := p.Exchanges()
		if err != nil {
			return err
		}
		tails, err := p.Tails(ctx)
		if err != nil {
			return err
		}
		if err := loki.WriteLines(filepath.Join(filepath.Dir(file), "tails.jsonl"), tails); err != nil {
			return err
		}
		return loki.WriteLines(file, all)
	}
	queries, err := loki.Queries(discover)
	if err != nil {
		return err
	}
	all, err := p.Answers(queries, func(done int) {
		if done%100 == 0 || done == len(queries) {
			fmt.Fprintf(os.Stderr, "%s: %d of %d queries\n", name, done, len(queries))
		}
	})

	if err != nil {
		return err
	}
	return loki.WriteLines(file, all)
}

// serve lets a Loki run, for who wants to ask it by hand.
func serve(ctx context.Context, binary, dir string) error {
	p, err := loki.Start(ctx, binary, dir, false)
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := p.Push(ctx, loki.Data()); err != nil {
		return err
	}
	fmt.Println(p.URL)
	<-ctx.Done()
	return nil
}
