package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

// A fixture is a file, app.log, and its bookmarks.
type fixture struct {
	t        *testing.T
	dir      string
	path     string
	warnings []string
	after    Position // of the last line taken
}

func newFixture(t *testing.T) *fixture {
	dir := t.TempDir()
	return &fixture{t: t, dir: dir, path: filepath.Join(dir, "app.log")}
}

func (x *fixture) book() *Book { return x.bookFor("server") }

func (x *fixture) bookFor(server string) *Book {
	x.t.Helper()
	b, err := OpenBook(filepath.Join(x.dir, "books"), server, "test", x.path)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { b.Close() })
	return b
}

func (x *fixture) write(text string) {
	x.t.Helper()
	f, err := os.OpenFile(x.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		x.t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		x.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		x.t.Fatal(err)
	}
}

// rotate renames app.log to app.log.1, that to app.log.2, and so on.
func (x *fixture) rotate() {
	x.t.Helper()
	x.shift()
	if err := os.Rename(x.path, x.path+".1"); err != nil {
		x.t.Fatal(err)
	}
}

func (x *fixture) shift() {
	for i := 20; i >= 1; i-- {
		for _, ext := range []string{"", ".gz"} {
			_ = os.Rename(fmt.Sprintf("%s.%d%s", x.path, i, ext), fmt.Sprintf("%s.%d%s", x.path, i+1, ext))
		}
	}
}

// copytruncate copies app.log to app.log.1 and truncates it.
func (x *fixture) copytruncate() {
	x.t.Helper()
	x.shift()
	data, err := os.ReadFile(x.path)
	if err == nil {
		err = os.WriteFile(x.path+".1", data, 0o666)
	}
	if err == nil {
		err = os.Truncate(x.path, 0)
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *fixture) compress(name string) {
	x.t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		x.t.Fatal(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		x.t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		x.t.Fatal(err)
	}
	fi, err := os.Stat(name)
	if err == nil {
		err = os.WriteFile(name+".gz.part", b.Bytes(), 0o666)
	}
	if err == nil {
		err = errors.Join(os.Chtimes(name+".gz.part", fi.ModTime(), fi.ModTime()), os.Rename(name+".gz.part", name+".gz"), os.Remove(name))
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// all reads what is there, behind what was read before, and returns the lines.
func (x *fixture) all(o Options) string {
	x.t.Helper()
	b := x.book()
	defer b.Close()
	o.Warn = func(err error) { x.warnings = append(x.warnings, err.Error()) }
	s, err := NewSource(x.path, b, x.after, o)
	if err != nil {
		x.t.Fatal(err)
	}
	defer s.Close()
	var all []string
	for {
		lines, err := s.Next(x.t.Context(), 64)
		if errors.Is(err, io.EOF) {
			return strings.Join(all, "|")
		}
		if err != nil {
			x.t.Fatal(err)
		}
		all = append(all, x.taken(lines)...)
	}
}

// taken returns the texts of lines, whose positions must grow.
func (x *fixture) taken(lines []Line) (texts []string) {
	for _, l := range lines {
		if l.End <= x.after {
			x.t.Errorf("%q ends at %v, behind a line that ends at %v", l.Text, l.End, x.after)
		}
		x.after = l.End
		texts = append(texts, string(l.Text))
	}
	return texts
}

// want reads what is there.
func (x *fixture) want(want string) {
	x.t.Helper()
	if got := x.all(Options{}); got != want {
		x.t.Errorf("read %q, want %q; warnings %q", got, want, x.warnings)
	}
}

// name returns a text long enough to recognise a file by.
func name(n int) string { return fmt.Sprintf("the first line of file number %d", n) }

func TestLinesAreReadOnce(t *testing.T) {
	x := newFixture(t)
	x.write("a\nb\r\n\nc")
	x.want("a|b||c")
	x.want("")
	x.write("d\ne\n")
	x.want("d|e")
	if _, err := os.Stat(x.path); err != nil || x.after != At(1, 11) {
		t.Errorf("at %v, %v", x.after, err)
	}
}

func TestLongLinesComeInPieces(t *testing.T) {
	x := newFixture(t)
	long := strings.Repeat("x", 150)
	x.write(long + "\nb\n" + long[:64] + "\n" + long)
	if got, want := x.all(Options{MaxLine: 64}), strings.Join([]string{long[:64], long[:64], long[:22], "b", long[:64], long[:64], long[:64], long[:22]}, "|"); got != want {
		t.Errorf("read %q", got)
	}
}

func TestRestartAfterRotation(t *testing.T) {
	for how, rotate := range map[string]func(*fixture){
		"renamed": (*fixture).rotate,
		"copied":  (*fixture).copytruncate,
		"renamed and compressed": func(x *fixture) {
			x.rotate()
			x.compress(x.path + ".1")
		},
		"renamed twice": func(x *fixture) {
			x.rotate()
			x.write(name(8) + "\n")
			x.rotate()
		},
		"copied twice": func(x *fixture) {
			x.copytruncate()
			x.write(name(8) + "\n")
			x.copytruncate()
		},
	} {
		t.Run(how, func(t *testing.T) {
			x := newFixture(t)
			x.write(name(1) + "\nb\n")
			x.want(name(1) + "|b")
			x.write("c\n")
			rotate(x)
			x.write(name(2) + "\n")
			want := "c|" + name(2)
			if strings.HasSuffix(how, "twice") {
				want = "c|" + name(8) + "|" + name(2)
			}
			x.want(want)
			x.want("")
			if len(x.warnings) > 0 {
				t.Errorf("warnings %q", x.warnings)
			}
		})
	}
}

func TestAFileThatIsGoneIsTold(t *testing.T) {
	x := newFixture(t)
	x.write(name(1) + "\n")
	x.want(name(1))
	if err := os.Remove(x.path); err != nil {
		t.Fatal(err)
	}
	x.write(name(2) + "\n")
	x.want(name(2))
	if len(x.warnings) != 1 || !strings.Contains(x.warnings[0], "the file that was there before is gone") {
		t.Errorf("warnings %q", x.warnings)
	}
}

// A file that was truncated and has the same first bytes, but fewer, is another one.
func TestAShorterFileIsAnotherOne(t *testing.T) {
	x := newFixture(t)
	x.write(name(1) + "\nb\n")
	x.want(name(1) + "|b")
	if err := os.WriteFile(x.path, []byte(name(1)+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	x.want(name(1))
}

func TestCompressedInput(t *testing.T) {
	x := newFixture(t)
	x.write(name(1) + "\nb\nc\n")
	x.compress(x.path)
	x.path += ".gz"
	x.want(name(1) + "|b|c")
	x.want("")
	x.after = At(1, int64(len(name(1))+1))
	x.want("b|c")
}

func TestLostBookmarks(t *testing.T) {
	x := newFixture(t)
	x.write(name(1) + "\n")
	_, err := NewSource(x.path, x.book(), At(3, 17), Options{})
	if e, ok := errors.AsType[*LostError](err); !ok || e.At != At(3, 17) {
		t.Errorf("%v", err)
	}
}

func TestAgain(t *testing.T) {
	x := newFixture(t)
	x.write(name(1) + "\n")
	x.want(name(1))
	if got := x.all(Options{Again: true}); got != name(1) {
		t.Errorf("read %q", got)
	}
	x.want("")
	x.after = At(9, 1) // as after the bookmarks were lost
	if got := x.all(Options{Again: true}); got != name(1) || x.after.Generation() != 10 {
		t.Errorf("read %q, at %v", got, x.after)
	}
}

func TestFromEnd(t *testing.T) {
	x := newFixture(t)
	x.write("old\n")
	b := x.book()
	s, err := NewSource(x.path, b, 0, Options{Follow: true, FromEnd: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	b.Close()
	x.write("new\n")
	x.want("new") // also after a restart before the first line
}

func TestABookIsOfOneProcess(t *testing.T) {
	x := newFixture(t)
	x.book()
	if _, err := OpenBook(filepath.Join(x.dir, "books"), "server", "test", x.path); err == nil || !strings.Contains(err.Error(), "pushes it already") {
		t.Error(err)
	}
}

// A follower takes lines while the file changes.
type follower struct {
	*fixture
	source *Source
}

func follow(t *testing.T, x *fixture) *follower {
	t.Helper()
	w := NewWatcher()
	t.Cleanup(func() { w.Close() })
	s, err := NewSource(x.path, x.book(), 0, Options{Follow: true, Watcher: w, Grace: 20 * time.Millisecond, Warn: func(err error) { x.warnings = append(x.warnings, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &follower{x, s}
}

// take takes lines until they are those that are wanted.
func (f *follower) take(want string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	var got []string
	for strings.Join(got, "|") != want {
		lines, err := f.source.Next(ctx, 1<<20)
		if err != nil {
			f.t.Fatalf("%v; read %q, want %q", err, got, want)
		}
		if got = append(got, f.taken(lines)...); len(got) > 100 {
			f.t.Fatalf("read %q, want %q", got, want)
		}
	}
}

func TestFollow(t *testing.T) {
	for how, rotate := range map[string]func(*fixture){
		"renamed": (*fixture).rotate,
		"copied":  (*fixture).copytruncate,
	} {
		t.Run(how, func(t *testing.T) {
			x := newFixture(t)
			f := follow(t, x)
			x.write(name(1) + "\nb\npart")
			f.take(name(1) + "|b")
			x.write("ial\n")
			f.take("partial")
			x.write("last")
			rotate(x)
			x.write(name(2) + "\n")
			f.take("last|" + name(2))
			rotate(x)
			x.write(name(3) + "\n")
			f.take(name(3))
			if len(x.warnings) > 0 {
				t.Errorf("warnings %q", x.warnings)
			}
		})
	}
}

func TestFollowTruncatedFile(t *testing.T) {
	x := newFixture(t)
	f := follow(t, x)
	x.write(name(1) + "\n")
	f.take(name(1))
	if err := os.Truncate(x.path, 0); err != nil {
		t.Fatal(err)
	}
	x.write(name(2) + "\n")
	f.take(name(2))
	// A writer that does not append goes on at its own offset.
	if err := os.WriteFile(x.path, append(make([]byte, 100), []byte(name(3)+"\n")...), 0o666); err != nil {
		t.Fatal(err)
	}
	f.take(name(3))
	if len(x.warnings) == 0 || !strings.Contains(x.warnings[0], "truncated") {
		t.Errorf("warnings %q", x.warnings)
	}
}

// A copy that cannot be read does not hold the file, and that is told.
func TestTheCopyOfATruncatedFileIsCutOff(t *testing.T) {
	x := newFixture(t)
	text := strings.Repeat(name(1)+"\n", 100)
	x.write(text + "not yet")
	b := x.book()
	defer b.Close()
	s, err := NewSource(x.path, b, 0, Options{Follow: true, Warn: func(err error) { x.warnings = append(x.warnings, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	next := func() []string {
		t.Helper()
		lines, err := s.Next(t.Context(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return x.taken(lines)
	}
	if got := next(); len(got) != 100 {
		t.Fatalf("read %d lines", len(got))
	}
	if err := os.WriteFile(x.path+".1", []byte(text[:len(text)/2]), 0o666); err != nil {
		t.Fatal(err)
	}
	x.compress(x.path + ".1")
	if err := os.Truncate(x.path, 0); err != nil {
		t.Fatal(err)
	}
	got := next()
	x.write("after\n")
	got = append(got, next()...)
	if strings.Join(got, "|") != "not yet|after" {
		t.Errorf("read %q", got)
	}
	if want := fmt.Sprintf("lines of it behind byte %d, if there are, are not sent: %s.1.gz: ", len(text)+len("not yet"), x.path); len(x.warnings) != 1 || !strings.Contains(x.warnings[0], want) {
		t.Errorf("warnings %q; want %q in one", x.warnings, want)
	}
}
