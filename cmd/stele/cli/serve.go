package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/stele-go/stele/cmd/stele/internal/settings"
)

const serveUsage = `Usage: stele serve --data DIR [flags]

Serves the log store in DIR over HTTP, by Loki's protocol: what any agent for Loki
pushes is kept, and LogQL is answered to Grafana, logcli and stele query. A push that
is answered with success survives a power cut and is found by the next query.

It listens on loopback only, unless --listen says otherwise: there is no password, so
whoever reaches the address reads and writes.

Each setting is a flag here, a line of the file of --config (YAML: query_timeout: 30s)
and a variable of the environment (STELE_QUERY_TIMEOUT=30s). A flag wins over the
environment, and that over the file. --print-config prints all settings, as such a
file; --check-config ends with 0 if they are right, and else says which is wrong and
where it is.

SIGTERM or Ctrl-C ends it: new requests are refused, those under way are answered, and
the store is closed, within --shutdown-timeout. A second Ctrl-C ends it at once, which
loses nothing that was acknowledged either.

It exits with 0 after a signal, 1 if something failed, and 2 if a setting is wrong.

Examples:
  stele serve --data logs
  stele serve --data logs --retention 30d --memory 1GiB --log-format json
  stele serve --data logs --config serve.yaml --check-config
`

func serveCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele serve", serveUsage)
	file := f.String("config", os.Getenv("STELE_CONFIG"), "read settings from `FILE`, in YAML")
	print := f.Bool("print-config", false, "print the settings as a file, and serve nothing")
	check := f.Bool("check-config", false, "check the settings, and serve nothing")
	settings.AddFlags(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	s, err := settings.Load(f, os.Environ(), *file)
	if err = cmp.Or(err, argCount(f, "stele serve", 0, 0)); err == nil {
		err = s.Check()
	}
	if err == nil && s.Data == "" && !*print {
		err = s.Wrong("data", "", "the directory of a store")
	}
	if err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	unknown := unknownVariables(os.Environ())
	if *print || *check {
		for _, err := range unknown {
			complain(stderr, f.Name(), err)
		}
	}
	switch {
	case *print:
		err = s.Print(stdout)
	case *check:
		_, err = fmt.Fprintln(stdout, "the settings are right")
	default:
		log := serveLog(s, stderr)
		for _, err := range unknown {
			log.Warn(err.Error())
		}
		err = serveStore(ctx, s, log)
	}
	if err != nil {
		return failed(stderr, f.Name(), err)
	}
	return exitOK
}

// unknownVariables returns a warning of each variable that may be a misspelt setting.
func unknownVariables(environ []string) (all []error) {
	var known []string
	for _, s := range settings.All() {
		known = append(known, s.Variable())
	}
	for _, name := range settings.UnknownVariables(environ) {
		all = append(all, fmt.Errorf("%s: no setting has this variable, and it is not used%s", name, didYouMean(name, known)))
	}
	return all
}

// serveLog returns the log of a server.
func serveLog(s *settings.Settings, stderr io.Writer) *slog.Logger {
	var o slog.HandlerOptions
	level := new(slog.LevelVar)
	if err := level.UnmarshalText([]byte(s.LogLevel)); err == nil { // Load has checked it
		o.Level = level
	}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(stderr, &o))
	}
	return slog.New(slog.NewTextHandler(stderr, &o))
}

// errShutdownTimeout ends a shutdown that takes too long.
var errShutdownTimeout = errors.New("the shutdown took longer than --shutdown-timeout; what was acknowledged is in the log of the store, and the next start reads it")
