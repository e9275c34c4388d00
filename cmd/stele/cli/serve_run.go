package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/settings"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server"
)

// serveStore opens the store and serves it until ctx is done.
func serveStore(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	// Listening first: a second server of the same address touches no store.
	l, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer l.Close()
	debug, err := serveDebug(s.DebugListen, s.Hosts, log)
	if err != nil {
		return err
	}
	defer debug.Close()
	o := s.Store()
	o.Events = func(e logstore.Event) { logEvent(log, e) }
	opened := time.Now()
	store, err := logstore.Open(s.Data, o)
	if err != nil {
		return askInstead(s.Data, err)
	}
	forget := announce(s.Data, l.Addr(), log)
	go logReady(store, opened, log)
	return errors.Join(serveUntil(ctx, s, store, l, log), forget())
}

// serveUntil serves the store, closes it once ctx is done, and takes at most the
// shutdown timeout for that.
func serveUntil(ctx context.Context, s *settings.Settings, store *logstore.Store, l net.Listener, log *slog.Logger) error {
	o := s.Server()
	o.Logger, o.Version = log, lab.Version()
	srv, err := server.New(store, o)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	log.Info("listening", "address", "http://"+l.Addr().String(), "data", s.Data, "survives", s.Level)
	select {
	case err = <-served: // it cannot accept connections any more
		return errors.Join(err, store.Close())
	case <-ctx.Done():
	}
	log.Info("shutting down", "timeout", s.ShutdownTimeout)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.ShutdownTimeout)
	defer cancel()
	answered, forgo := context.WithTimeout(end, s.ShutdownTimeout/4*3) // the rest is the store's
	err = srv.Shutdown(answered)
	forgo()
	closed := make(chan error, 1)
	go func() { closed <- store.Close() }()
	select {
	case closeErr := <-closed:
		if err == nil && closeErr == nil {
			log.Info("closed", "data", s.Data)
		}
		return errors.Join(err, closeErr)
	case <-end.Done():
		return errShutdownTimeout
	}
}

// logReady logs that the store is ready, once it is.
func logReady(store *logstore.Store, opened time.Time, log *slog.Logger) {
	<-store.Ready()
	st := store.Stats()
	log.Info("the store is ready", "segments", st.Segments, "took", time.Since(opened).Round(time.Millisecond))
}

// logEvent logs what happened to the store.
func logEvent(log *slog.Logger, e logstore.Event) {
	level := slog.LevelWarn
	switch e.Kind {
	case logstore.EventRetired, logstore.EventLeftover, logstore.EventSpace, logstore.EventClock, logstore.EventDiscarded, logstore.EventUnusedLog:
		level = slog.LevelInfo
	case logstore.EventFailed, logstore.EventLowSpace, logstore.EventMissing, logstore.EventGap, logstore.EventDamage, logstore.EventLogDamage:
		level = slog.LevelError
	}
	log.Log(context.Background(), level, e.String(), "event", e.Kind.String())
}

// serveDebug serves pprof on an address of its own, if there is one. A page in a browser reaches it as
// little as the server.
func serveDebug(address string, hosts []string, log *slog.Logger) (*http.Server, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	srv := &http.Server{Handler: server.Guard(mux, hosts), ReadHeaderTimeout: 10 * time.Second}
	if address == "" {
		return srv, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--debug-listen: %w", err)
	}
	go srv.Serve(l)
	log.Info("debugging", "address", "http://"+l.Addr().String()+"/debug/pprof/")
	return srv, nil
}

// An announcement is what a server says of itself in the directory of its store, for
// other processes that find the store in use.
type announcement struct {
	PID     int    `json:"pid"`
	Address string `json:"address"`
}

const announcementFile = "serving.json"

// announce writes the announcement of this process. It returns a function that removes it.
func announce(dir string, address net.Addr, log *slog.Logger) func() error {
	name := filepath.Join(dir, announcementFile)
	data, err := json.Marshal(announcement{os.Getpid(), "http://" + address.String()})
	if err == nil {
		err = os.WriteFile(name, data, 0o666)
	}
	if err != nil { // a disk that is full, for example: it is a convenience
		log.Warn("cannot say in the directory of the store where it is served", "error", err)
	}
	return func() error {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
}

// askInstead adds to the error of a store in use which process serves it.
func askInstead(dir string, err error) error {
	if !errors.Is(err, logstore.ErrLocked) {
		return err
	}
	data, readErr := os.ReadFile(filepath.Join(dir, announcementFile))
	var s announcement
	if readErr != nil || json.Unmarshal(data, &s) != nil || s.Address == "" {
		return err
	}
	return fmt.Errorf("%w: process %d serves it: ask that, with --addr %s", err, s.PID, s.Address)
}
