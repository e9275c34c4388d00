package follow

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
)

// A file is written, rotated in each way and compressed, while readers end and begin again
// where the last line was safe: each line comes once, in order.
func TestRandomRotations(t *testing.T) {
	seed := testseed.Of(t)
	rounds := 6
	if os.Getenv("STELE_LONG") != "" {
		rounds = 300
	}
	for i := range uint64(rounds) {
		if !t.Run(fmt.Sprint(seed+i), func(t *testing.T) { randomRotations(t, rand.New(rand.NewPCG(seed+i, 0))) }) {
			return // STELE_SEED repeats it
		}
	}
}

func randomRotations(t *testing.T, r *rand.Rand) {
	x := newFixture(t)
	written := make(chan int, 1)
	turn := make(chan func(), 1) // what the writer does next
	go func() {
		defer close(written)
		for f := range turn {
			f()
		}
	}()
	defer func() { close(turn); <-written }()
	next := 0
	writes := rand.New(rand.NewPCG(r.Uint64(), 1))
	change := func() {
		switch n := writes.IntN(10); {
		case n == 0 && next > 0:
			x.rotate()
		case n == 1 && next > 0:
			x.copytruncate()
		case n == 2:
			if _, err := os.Stat(x.path + ".2"); err == nil {
				x.compress(x.path + ".2")
			}
		}
		for range 1 + writes.IntN(20) {
			x.write(fmt.Sprintf("line %08d of this test, as long as one is\n", next))
			next++
		}
	}
	read := 0
	change()
	readSome(t, x, r, &read) // what was rotated away before it was ever looked at is not of the file
	for range 12 {
		select {
		case turn <- change:
		default:
		}
		readSome(t, x, r, &read)
	}
	done := make(chan int)
	turn <- func() { done <- next }
	total := <-done
	for read < total {
		if readSome(t, x, r, &read); t.Failed() {
			return
		}
	}
	if read != total {
		t.Errorf("read %d of %d lines", read, total)
	}
}

// readSome reads some lines by a source of its own, of which a part is safe then.
func readSome(t *testing.T, x *fixture, r *rand.Rand, read *int) {
	b := x.book()
	defer b.Close()
	w := NewWatcher()
	defer w.Close()
	s, err := NewSource(x.path, b, x.after, Options{Follow: true, Watcher: w, Grace: time.Millisecond, Warn: func(err error) { t.Log(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 1 + r.IntN(5) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		lines, err := s.Next(ctx, 1+r.IntN(2000))
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return // nothing new for now
		}
		if err != nil {
			t.Fatal(err)
		}
		safe := len(lines)
		if r.IntN(3) == 0 {
			safe = r.IntN(len(lines) + 1) // the end came before the rest was
		}
		for _, l := range lines[:safe] {
			if want := fmt.Sprintf("line %08d ", *read); !strings.HasPrefix(string(l.Text), want) {
				t.Fatalf("read %q, want %s", l.Text, want)
			}
			*read++
			x.after = l.End
		}
		if safe < len(lines) {
			return
		}
	}
}
