package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server"
)

// A Process is a server in a process of its own.
type Process struct {
	Addr string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

// processEnv tells the process what to serve.
const processEnv = "STELE_SUITE_SERVE"

// processSetup is what the process is told.
type processSetup struct {
	Dir string
	// Empty answers 204 to everything: what the clients and net/http take.
	Empty bool
	// Handler has net/http read all requests.
	Handler bool
	// Kill is level Kill in place of Power.
	Kill bool
	// Codec is how lines are encoded, 0 for the default.
	Codec logstore.Codec
	// ReadOnly opens the store for queries alone.
	ReadOnly bool
	// Profile is the file that gets a profile of CPU time between start and stop, "" for none.
	Profile string
}

// Usage is what a server has used so far.
type Usage struct {
	CPU     time.Duration
	PeakRSS int64 // bytes
	Heap    int64 // bytes of live and dead objects
	Stats   logstore.Stats
}

// Start starts a server over the store in dir, at level Power, by a copy of this program, which
// must call Main first. It is killed when ctx is done, at the latest.
func Start(ctx context.Context, dir string) (*Process, error) {
	return start(ctx, processSetup{Dir: dir})
}

func start(ctx context.Context, setup processSetup) (*Process, error) {
	if !mainCalled.Load() {
		return nil, errors.New("serve: Start: the program has not called Main, by which a copy of it becomes the server")
	}
	text, err := json.Marshal(setup)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable() // blocks run in other directories
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.CommandContext(ctx, program)}
	p.cmd.Env = append(os.Environ(), processEnv+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(out)
	if err := p.out.Decode(&p.Addr); err != nil {
		return nil, errors.Join(fmt.Errorf("serve: the server has not started: %w", err), p.Kill())
	}
	return p, nil
}

// Usage asks what the server has used.
func (p *Process) Usage() (u Usage, err error) {
	if _, err := io.WriteString(p.in, "usage\n"); err != nil {
		return u, err
	}
	return u, p.out.Decode(&u)
}

// Seal writes what is in memory into segments, and compacts them with compact.
func (p *Process) Seal(compact bool) (u Usage, err error) {
	what := "seal\n"
	if compact {
		what = "compact\n"
	}
	if _, err := io.WriteString(p.in, what); err != nil {
		return u, err
	}
	return u, p.out.Decode(&u)
}

// Stop shuts the server down, and returns when its process has ended.
func (p *Process) Stop() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }

// Kill ends the process at once.
func (p *Process) Kill() error {
	err := p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
	return err
}

// mainCalled says that this program calls Main, so that a copy of it is a server, and not
// the same program again.
var mainCalled atomic.Bool

// Main is the program of a Process. It returns at once in any other process; TestMain, or
// main, calls it first.
func Main() {
	mainCalled.Store(true)
	text := os.Getenv(processEnv)
	if text == "" {
		return
	}
	var setup processSetup
	err := json.Unmarshal([]byte(text), &setup)
	if err == nil {
		err = setup.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (s *processSetup) run() (err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if s.Empty {
		go serveEmpty(l)
		return tell(l.Addr().String(), nil)
	}
	if s.Profile != "" {
		f, err := os.Create(s.Profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	store, err := s.open()
	if err != nil {
		return err
	}
	return errors.Join(s.serve(l, store), store.Close())
}

// open opens the store.
func (s *processSetup) open() (*logstore.Store, error) {
	o := logstore.Options{LateWindow: -1, FutureWindow: -1, Codec: s.Codec}
	if s.Kill {
		o.Level = durability.Kill
	}
	if s.ReadOnly {
		return logstore.OpenReadOnly(s.Dir, logstore.Options{})
	}
	return logstore.Open(s.Dir, o)
}

// serve serves a store until stdin is closed.
func (s *processSetup) serve(l net.Listener, store *logstore.Store) error {
	<-store.Ready()
	srv, err := server.New(store, server.Options{})
	if err != nil {
		return err
	}
	if s.Handler {
		h := http.Server{Handler: srv}
		go h.Serve(l)
		return errors.Join(tell(l.Addr().String(), store), h.Close())
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	err = tell(l.Addr().String(), store)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(err, srv.Shutdown(ctx), <-served)
}

// tell writes the address, and answers what is asked on stdin until that is closed.
func tell(addr string, store *logstore.Store) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(addr); err != nil {
		return err
	}
	ctx := context.Background()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var err error
		if store != nil && in.Text() != "usage" {
			err = store.Seal(ctx)
			if in.Text() == "compact" {
				err = errors.Join(err, store.Compact(ctx))
			}
		}
		if err != nil {
			return err
		}
		u, err := usage(store)
		if err != nil {
			return err
		}
		if err := out.Encode(u); err != nil {
			return err
		}
	}
	return nil
}

func usage(store *logstore.Store) (u Usage, err error) {
	self, err := procstat.SelfUsage()
	if err != nil {
		return u, err
	}
	u.CPU = self.User + self.System
	if u.PeakRSS, err = procstat.PeakRSS(); err != nil {
		return u, err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.Heap = int64(m.HeapAlloc)
	if store != nil {
		u.Stats = store.Stats()
		u.Stats.Failed, u.Stats.BackgroundError = nil, nil // errors are no JSON
	}
	return u, nil
}
