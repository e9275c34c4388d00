package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
	"github.com/stele-go/stele/cmd/stele/internal/settings"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server"
)

// defaultAddr is where stele serve listens by default.
const defaultAddr = "http://127.0.0.1:3100"

// clientFlags are the flags of the commands that ask a server, or read a store themselves.
type clientFlags struct {
	addr, data, tenant string
	timeout            time.Duration
	since, from, to    string
	f                  *pflag.FlagSet
}

func (a *clientFlags) serverFlags(f *pflag.FlagSet) {
	a.f = f
	f.StringVar(&a.addr, "addr", cmp.Or(os.Getenv("STELE_ADDR"), defaultAddr), "`URL` of the server; the default is $STELE_ADDR")
	f.StringVar(&a.tenant, "tenant", os.Getenv("STELE_TENANT"), "`NAME` of the tenant; the default is $STELE_TENANT")
}

func (a *clientFlags) dataFlag(f *pflag.FlagSet) {
	f.StringVar(&a.data, "data", "", "read the store in `DIR`, which no process has open, and ask no server")
	f.DurationVar(&a.timeout, "timeout", time.Minute, "longest `TIME` of a request; 0 means no limit")
}

func (a *clientFlags) rangeFlags(f *pflag.FlagSet, since string) {
	f.StringVar(&a.since, "since", since, "the range begins this `TIME`, such as 30m or 7d, before its end")
	f.StringVar(&a.from, "from", "", "begin of the range, `MOMENT`, instead of --since: 2027-01-15T08:00:00Z, 2027-01-15, 08:30, 2h (ago) or seconds since 1970")
	f.StringVar(&a.to, "to", "now", "end of the range, `MOMENT`; lines of that moment are not in the range")
}

// checkTimeout returns an error for a --timeout that is wrong.
func (a *clientFlags) checkTimeout() error {
	if a.timeout < 0 {
		return setting.Wrong("--timeout", a.timeout, "0 (no limit) or more")
	}
	return nil
}

// moments returns the range of the flags, in nanoseconds since the Unix epoch.
func (a *clientFlags) moments(now time.Time) (from, to int64, err error) {
	if to, err = moment("--to", a.to, now); err != nil {
		return 0, 0, err
	}
	if a.from != "" {
		if a.f.Changed("since") {
			return 0, 0, setting.Wrong("--since", a.since, "one of --since and --from")
		}
		if from, err = moment("--from", a.from, now); err != nil {
			return 0, 0, err
		}
	} else {
		d, err := settings.ParseDuration(a.since)
		if err != nil || d <= 0 {
			return 0, 0, setting.Wrong("--since", a.since, "a time such as 30m, 12h or 7d")
		}
		from = max(0, to-int64(d))
	}
	if from >= to {
		return 0, 0, setting.Wrong("--from", time.Unix(0, from).UTC().Format(time.RFC3339Nano), "a moment before --to, %s", time.Unix(0, to).UTC().Format(time.RFC3339Nano))
	}
	return from, to, nil
}

// client returns a client of the server, or of the store, and a function that ends it.
func (a *clientFlags) client(ctx context.Context) (*lokiclient.Client, func() error, error) {
	o := lokiclient.Options{Addr: a.addr, Tenant: a.tenant, Timeout: a.timeout}
	end := func() error { return nil }
	if a.data != "" {
		if a.f.Changed("addr") {
			return nil, nil, errors.New("--data: want it without --addr: the store is read, and no server asked")
		}
		h, closeStore, err := openHandler(ctx, a.data, a.tenant != "", a.timeout)
		if err != nil {
			return nil, nil, err
		}
		o.Addr, o.Transport, end = lokiclient.LocalAddr, lokiclient.Local(h), closeStore
	}
	c, err := lokiclient.New(o)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return c, end, nil
}

// openHandler opens a store for reading, and returns a server for it, and a function that
// closes both.
func openHandler(ctx context.Context, dir string, tenants bool, timeout time.Duration) (http.Handler, func() error, error) {
	store, err := logstore.OpenReadOnly(dir, logstore.Options{})
	if err != nil {
		return nil, nil, askInstead(dir, err)
	}
	select {
	case <-store.Ready():
	case <-ctx.Done():
		return nil, nil, errors.Join(ctx.Err(), store.Close())
	}
	srv, err := server.New(store, server.Options{Tenants: tenants, Query: localLimits(timeout)})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return srv, func() error {
		return errors.Join(srv.Shutdown(context.WithoutCancel(ctx)), store.Close())
	}, nil
}

// localLimits are the limits of a query of the own store, which nobody else waits for.
func localLimits(timeout time.Duration) logql.Limits {
	if timeout == 0 {
		timeout = math.MaxInt64
	}
	return logql.Limits{Time: timeout, Lines: math.MaxInt32, Series: math.MaxInt32}
}

// ask calls f with a client, and returns the exit code of the command.
func (a *clientFlags) ask(ctx context.Context, stderr io.Writer, query string, f func(*lokiclient.Client) error) int {
	c, end, err := a.client(ctx)
	if err == nil {
		err = errors.Join(f(c), end())
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		return a.failed(stderr, query, err)
	}
	return exitOK
}

// failed prints the error of an answer. If the query is wrong, its place is shown.
func (a *clientFlags) failed(stderr io.Writer, query string, err error) int {
	if wrong, ok := errors.AsType[*setting.Error](err); ok {
		return usageError(stderr, a.f.Name(), exitUsage, wrong)
	}
	if e, ok := errors.AsType[*lokiclient.Error](err); ok && e.Status == http.StatusBadRequest {
		if code, shown := showCaret(stderr, a.f.Name(), query); shown {
			return code
		}
	}
	if lokiclient.Temporary(err) && a.data == "" {
		if _, answered := errors.AsType[*lokiclient.Error](err); !answered {
			err = fmt.Errorf("%w\n%s", err, a.advice(err))
		}
	}
	return failed(stderr, a.f.Name(), err)
}

// advice says what to do about a server that does not answer.
func (a *clientFlags) advice(err error) string {
	text := "--addr says which server to ask"
	if errors.Is(err, syscall.ECONNREFUSED) {
		text = "no server listens there: 'stele serve --data DIR' starts one; " + text
	}
	if a.f.Lookup("data") != nil {
		text += ", and --data DIR reads a store without one"
	}
	return text
}

// showCaret shows the place of an error in a query.
func showCaret(stderr io.Writer, name, query string) (code int, shown bool) {
	_, err := syntax.Parse(query)
	e, ok := errors.AsType[*syntax.Error](err)
	if query == "" || !ok {
		return 0, false
	}
	fmt.Fprintf(stderr, "%s: %v\n%s\n", name, err, strings.TrimSuffix(e.Caret(), "\n"))
	return exitUsage, true
}
