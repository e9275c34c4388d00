package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
)

// A file is written and rotated while stele push follows it, and both sides are killed at
// random: in the end the store has each line once, in order.
func TestPushKilledAtRandom(t *testing.T) {
	seed := testseed.Of(t)
	kills, lines := 6, 3000
	if os.Getenv("STELE_LONG") != "" {
		kills, lines = 300, 200_000
	}
	r := rand.New(rand.NewPCG(seed, 0))
	t.Chdir(t.TempDir())
	listen := freeAddress(t)
	k := &killed{
		t: t, r: r, addr: "http://" + listen,
		serve: []string{"serve", "--data", "store", "--listen", listen},
		push: []string{"push", "app.log", "--follow", "--label", "app=shop", "--addr", "http://" + listen, "--bookmarks", "books",
			"--batch", "2KiB", "--progress", "none"},
	}
	k.server, k.pusher = start(t, k.serve...), start(t, k.push...)
	k.write(0)
	k.has(1) // what was rotated away before it was ever followed is not of the file
	for i := 1; i < lines; i++ {
		k.write(i)
		// Not after the last line: a process that is ended before it knows that it runs
		// has no exit code of its own.
		if i%(lines/kills) == lines/kills-1 && i < lines-1 {
			k.has(k.seen + 1 + r.IntN(i-k.seen)) // in the midst of its work
			k.kill()
		}
	}
	k.has(lines)
	if code := k.pusher.terminate(); code != exitOK {
		t.Errorf("stele push: exit code %d:\n%s", code, &k.pusher.diag)
	}
	k.check(lines)
}

type killed struct {
	t              *testing.T
	r              *rand.Rand
	addr           string
	serve, push    []string
	server, pusher *process
	seen           int // lines that the store had
}

// write writes line i, and rotates the file now and then.
func (k *killed) write(i int) {
	k.t.Helper()
	if k.r.IntN(500) == 0 {
		rotate(k.t, "app.log", k.r.IntN(2) == 0)
	}
	f, err := os.OpenFile("app.log", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		k.t.Fatal(err)
	}
	fmt.Fprintf(f, "line %08d of this test, as long as one is\n", i)
	if err := f.Close(); err != nil {
		k.t.Fatal(err)
	}
	if k.r.IntN(20) == 0 {
		time.Sleep(time.Duration(k.r.IntN(3000)) * time.Microsecond)
	}
}

// rotate renames a file, or copies and truncates it.
func rotate(t *testing.T, name string, copied bool) {
	t.Helper()
	files, err := filepath.Glob(name + ".*")
	if err != nil {
		t.Fatal(err)
	}
	to := fmt.Sprintf("%s.%08d", name, len(files))
	data, err := os.ReadFile(name)
	if err != nil {
		return // there is none yet
	}
	if !copied {
		err = os.Rename(name, to)
	} else if err = os.WriteFile(to, data, 0o666); err == nil {
		err = os.Truncate(name, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// kill kills one side, or both, and starts them again.
func (k *killed) kill() {
	which := k.r.IntN(3)
	if which != 0 {
		k.pusher.kill()
	}
	if which != 1 {
		k.server.kill()
		k.server = start(k.t, k.serve...)
	}
	if which != 0 {
		k.pusher = start(k.t, k.push...)
	}
}

// has waits until the store has so many lines, at least.
func (k *killed) has(lines int) {
	k.t.Helper()
	var last string
	defer func() {
		if k.t.Failed() {
			k.t.Logf("the store has %s of %d\nstele push: %s\nstele serve: %s", last, lines, &k.pusher.diag, &k.server.diag)
		}
	}()
	until(k.t, "the lines are there", func() bool {
		_, out, diag := stele(k.t, "query", `sum(count_over_time({app="shop"}[1d]))`, "--instant", "-o", "raw", "--addr", k.addr)
		last = out + diag
		n, err := strconv.Atoi(strings.TrimSpace(out))
		if err == nil {
			k.seen = n
		}
		return err == nil && n >= lines
	})
}

// check checks that the lines are those that were written.
func (k *killed) check(lines int) {
	k.t.Helper()
	code, out, diag := stele(k.t, "export", `{app="shop"}`, "--since", "1d", "-o", "raw", "--addr", k.addr)
	if code != exitOK {
		k.t.Fatalf("exit code %d: %s", code, diag)
	}
	i := 0
	for line := range strings.Lines(out) {
		if want := fmt.Sprintf("line %08d ", i); !strings.HasPrefix(line, want) {
			k.t.Fatalf("line %d of the store is %q", i, line)
		}
		i++
	}
	if i != lines {
		k.t.Errorf("the store has %d lines of %d", i, lines)
	}
}
