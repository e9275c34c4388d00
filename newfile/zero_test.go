package newfile_test

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/stele-go/stele/newfile"
)

// Zero values are not open, and use neither the working directory nor descriptor 0.
func TestZero(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx := t.Context()
	b := make([]byte, 1)
	var (
		d newfile.Dir
		q newfile.Queue
		p newfile.Pool
		s newfile.Scratch
		f newfile.File
		m newfile.MemoryFile
	)
	done := func(*os.File, error) { t.Error("a zero Queue answers") }
	second := func(_ any, err error) error { return err }
	errs := map[string]error{
		"Dir.Create":         second(d.Create("f", 0o600)),
		"Dir.Touch":          d.Touch("f", 0o600),
		"Dir.Batch":          second(d.Batch(ctx, slices.Values([]string{"f"}), 0o600, nil)),
		"Dir.Close":          d.Close(),
		"Anonymous":          second(newfile.Anonymous(&d, 0o600)),
		"NewQueue":           second(newfile.NewQueue(&d, newfile.QueueOptions{})),
		"NewPool":            second(newfile.NewPool(&d, 1)),
		"Queue.Submit":       q.Submit(ctx, newfile.Request{Name: "f", Done: done}),
		"Queue.TrySubmit":    q.TrySubmit(newfile.Request{Name: "f", Done: done}),
		"Queue.Create":       second(q.Create(ctx, "f")),
		"Queue.Close":        q.Close(),
		"Pool.Get":           second(p.Get(ctx)),
		"Pool.Warm":          p.Warm(ctx, 1),
		"Pool.Close":         p.Close(),
		"Scratch.Read":       second(s.Read(b)),
		"Scratch.Write":      second(s.Write(b)),
		"Scratch.ReadAt":     second(s.ReadAt(b, 0)),
		"Scratch.WriteAt":    second(s.WriteAt(b, 0)),
		"Scratch.Seek":       second(s.Seek(0, 0)),
		"Scratch.Truncate":   s.Truncate(0),
		"Scratch.Size":       second(s.Size()),
		"Scratch.Close":      s.Close(),
		"File.Write":         second(f.Write(b)),
		"File.Publish":       f.Publish("f"),
		"File.Replace":       f.Replace("f"),
		"File.Close":         f.Close(),
		"MemoryFile.Write":   second(m.Write(b)),
		"MemoryFile.Seal":    m.Seal(),
		"MemoryFile.Close":   m.Close(),
		"nil Dir, Anonymous": second(newfile.Anonymous(nil, 0o600)),
		"nil Dir, NewQueue":  second(newfile.NewQueue(nil, newfile.QueueOptions{})),
	}
	for name, err := range errs {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if got := f.Name() + m.Name() + d.Path("f"); got != "" {
		t.Errorf("a zero value names %q", got)
	}
	if st := q.Stats(); st.Answered != 0 || st.Queued != 0 {
		t.Errorf("a zero Queue has done %+v", st)
	}
	if _, err := os.Stdin.Stat(); err != nil {
		t.Error("standard input: ", err)
	}
	if es, err := os.ReadDir("."); err != nil || len(es) != 0 {
		t.Errorf("left behind: %v, %v", es, err)
	}
}
