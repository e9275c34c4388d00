package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/logstore"
)

// steleCheckpoint, in the environment of a process of the test, is checkpointBytes.
const steleCheckpoint = "STELE_TEST_CHECKPOINT"

// An export is killed at random and resumed: in the end its file has each line once, in
// order.
func TestExportKilledAtRandom(t *testing.T) {
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 0))
	kills, lines := 4, 3000
	if os.Getenv("STELE_LONG") != "" {
		kills, lines = 200, 100_000
	}
	inMemory(t)
	want := linesToExport(t, lines)
	t.Setenv(steleCheckpoint, "10000")
	args := []string{"export", `{app="api"}`, "--data", "store", "--from", "0", "-o", "raw", "--file", "out.gz", "--compress", "gzip", "--progress", "none"}
	var at int64
	for i := 0; ; i++ {
		call := args
		if _, err := os.Stat("out.gz.part.state"); err == nil {
			call = append(call, "--resume")
		}
		p := start(t, call...)
		if i < kills {
			at += 1 + r.Int64N(int64(2*lines/kills))
			until(t, "the export has gone on", func() bool {
				select {
				case <-p.done:
					return true
				default:
				}
				state, err := readExportState("out.gz")
				return err == nil && state.Lines >= at
			})
			time.Sleep(time.Duration(r.Int64N(int64(3 * time.Millisecond)))) // in the midst of a line, or of a checkpoint
			p.kill()
		}
		<-p.done
		if p.cmd.ProcessState.Success() {
			break
		}
		if i >= kills {
			t.Fatalf("it ends with %v:\n%s", p.cmd.ProcessState, &p.diag)
		}
	}
	data, err := os.ReadFile("out.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: %d bytes of %d, or others", err, len(got), len(want))
	}
	if _, err := os.Stat("out.gz.part.state"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the state is left: ", err)
	}
}

// linesToExport makes a store with n lines, of which some are equal and many have the same
// time, and returns them.
func linesToExport(t *testing.T, n int) []byte {
	t.Helper()
	s, err := logstore.Open("store", logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	stream := logstore.Stream{Labels: logstore.MustLabels("app", "api")}
	for i := range n {
		line := fmt.Appendf(nil, "line %08d of this test, as long as one is", i/2)
		stream.Entries = append(stream.Entries, logstore.Entry{Time: 1_700_000_000_000_000_000 + int64(i/7), Line: line})
		text.Write(append(line, '\n'))
	}
	err = s.Append(t.Context(), logstore.Batch{stream})
	if err := errors.Join(err, s.Seal(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}
