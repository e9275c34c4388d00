package powertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/crashtest/power"
)

// killEnv marks the process to kill, and names its directory.
const killEnv = "STELE_CRASHTEST_KILL"

// Kill runs work n times, each time in a new directory and in a process that is
// ended by kill -9 soon after one of the acknowledgements, and checks the
// directory. It needs no rights.
//
// Kill shows that work leaves the files in a state that it can continue from,
// whenever it ends (durability.Kill). It shows nothing about power cuts: data in
// the page cache survives it, synced or not.
//
// Entries are sent to this process as JSON. The test t must call Kill, once only,
// when it is run by its name in another process.
func Kill[T any](t *testing.T, n int, seed uint64, work func(dir string, ack func(entry T)) error, check func(dir string, acked []T) error) power.Result {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("kill -9 needs a pipe beside the standard ones")
	}
	if dir := os.Getenv(killEnv); dir != "" {
		if err := killed(dir, work); err != nil {
			t.Fatal(err)
		}
		t.SkipNow()
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	res := power.Result{FS: "kill -9", Seed: seed, Cuts: n}
	last := 0 // entry after which to kill; 0 lets it end
	total := 0
	for i := range n {
		dir := t.TempDir()
		acked, err := killRun[T](t, dir, last, time.Duration(rng.IntN(500))*time.Microsecond)
		if err != nil {
			t.Fatalf("seed %d, run %d: %v", seed, i, err)
		}
		if err := check(dir, acked); err != nil {
			res.Lost = append(res.Lost, power.Loss{Cut: power.Cut{N: i, Where: "kill", Acked: len(acked)}, Err: err})
		}
		if total = max(total, len(acked)); total > 0 {
			last = 1 + rng.IntN(total)
		}
	}
	return res
}

// killed is the process to kill. Its ledger is the pipe.
func killed[T any](dir string, work func(dir string, ack func(entry T)) error) error {
	var (
		mu  sync.Mutex
		out = json.NewEncoder(os.NewFile(3, "ledger"))
		err error
	)
	failed := work(dir, func(entry T) {
		mu.Lock()
		defer mu.Unlock()
		err = errors.Join(err, out.Encode(entry))
	})
	return errors.Join(failed, err)
}

// killRun runs this test in another process, and returns what it acknowledged
// before its end.
func killRun[T any](t *testing.T, dir string, last int, after time.Duration) ([]T, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	levels := strings.Split(t.Name(), "/")
	for i, l := range levels {
		levels[i] = "^" + regexp.QuoteMeta(l) + "$"
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	victim := exec.Command(exe, "-test.run="+strings.Join(levels, "/"))
	victim.Env = append(os.Environ(), killEnv+"="+dir)
	victim.ExtraFiles = []*os.File{w}
	var out strings.Builder
	victim.Stdout, victim.Stderr = &out, &out
	err = victim.Start()
	w.Close()
	if err != nil {
		return nil, err
	}
	var acked []T
	in := json.NewDecoder(r)
	for {
		var e T
		if err = in.Decode(&e); err != nil {
			break
		}
		if acked = append(acked, e); len(acked) == last {
			time.Sleep(after)
			victim.Process.Kill()
		}
	}
	ended := victim.Wait()
	switch {
	case last > 0 && len(acked) >= last:
		return acked, nil // an entry cut short by the kill does not count
	case err != io.EOF || ended != nil:
		return nil, fmt.Errorf("powertest: Kill: the process to kill ended by itself after %d entries: %v, %v: %s", len(acked), err, ended, out.String())
	}
	return acked, nil
}
