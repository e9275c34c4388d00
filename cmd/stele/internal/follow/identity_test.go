package follow

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A file that begins with the banner of the one before it is another one: also if it grew
// beyond the place of the reader, while that was away or not.
func TestTheSameBanner(t *testing.T) {
	banner := "a banner that is longer than 32 bytes, v1.0\n"
	t.Run("restart", func(t *testing.T) {
		x := newFixture(t)
		x.write(banner)
		x.want(banner[:len(banner)-1])
		x.write("b\n")
		x.want("b")
		if err := os.WriteFile(x.path, []byte(banner+"c\nd\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		x.want(banner[:len(banner)-1] + "|c|d")
	})
	t.Run("follow", func(t *testing.T) {
		x := newFixture(t)
		f := follow(t, x)
		x.write(banner)
		f.take(banner[:len(banner)-1])
		x.write("b\n")
		f.take("b")
		if err := os.WriteFile(x.path, []byte(banner+"c\nd\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		f.take(banner[:len(banner)-1] + "|c|d")
	})
	t.Run("long", func(t *testing.T) {
		x := newFixture(t)
		f := follow(t, x)
		long := strings.Repeat(banner, 30)
		lines := strings.ReplaceAll(strings.TrimSuffix(long, "\n"), "\n", "|")
		x.write(long + "b, a line of the first run\n")
		f.take(lines + "|b, a line of the first run")
		if err := os.WriteFile(x.path, []byte(long+"c, a line of the second\nd\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		f.take(lines + "|c, a line of the second|d")
	})
}

// A file that lost its end, as at a power cut, is not sent whole again.
func TestAFileThatLostItsEnd(t *testing.T) {
	for _, live := range []bool{false, true} {
		x := newFixture(t)
		var first, again []string
		for range 100 {
			x.write("one of many lines, which are longer than 1,024 bytes\n")
			first = append(first, "one of many lines, which are longer than 1,024 bytes")
		}
		take := x.want
		if live {
			f := follow(t, x)
			f.source.o.markEvery = time.Nanosecond
			take = f.take
		}
		take(strings.Join(first, "|"))
		for _, line := range []string{"b", "c", "d"} {
			x.write(line + " is a line of its own\n")
			take(line + " is a line of its own")
		}
		fi, err := os.Stat(x.path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(x.path, fi.Size()-int64(len("d is a line of its own\nown\n"))); err != nil {
			t.Fatal(err)
		}
		again = append(again, "c is a line of its ")
		if live {
			// Lines come while the loss is looked at.
			x.write("end\ne\n")
			again = []string{"c is a line of its end", "e"}
		}
		take(strings.Join(again, "|"))
		if len(x.warnings) != 1 || !strings.Contains(x.warnings[0], "lost its end") {
			t.Errorf("live %v: warnings %q", live, x.warnings)
		}
	}
}

func TestTheBookOfAnotherAddress(t *testing.T) {
	x := newFixture(t)
	x.write(name(1) + "\n")
	x.want(name(1))
	x.rotate()
	x.write(name(2) + "\n")
	x.want(name(2))
	b := x.bookFor("another address")
	s, err := NewSource(x.path, b, x.after, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := s.Next(t.Context(), 100); !errors.Is(err, io.EOF) {
		t.Errorf("%q, %v", lines, err)
	}
	if err := errors.Join(s.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestOtherCompressions(t *testing.T) {
	x := newFixture(t)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	data := z.EncodeAll([]byte(name(1)+"\nb\n"), nil)
	if err := os.WriteFile(x.path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	x.want(name(1) + "|b")

	x = newFixture(t)
	if err := os.WriteFile(x.path, []byte("\xfd7zXZ\x00 and more"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := NewSource(x.path, x.book(), 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if lines, err := s.Next(t.Context(), 100); !errors.Is(err, ErrCompressed) || !strings.Contains(err.Error(), "compressed by xz") {
		t.Errorf("%q, %v", lines, err)
	}
}

// Another log beside the file is not taken for a generation of it, nor is a file that
// cannot be read.
func TestOtherFilesBeside(t *testing.T) {
	x := newFixture(t)
	x.write(name(1) + "\n")
	x.want(name(1))
	x.rotate()
	for _, ext := range []string{".audit", "-web", ".2.xz"} {
		if err := os.WriteFile(x.path+ext, []byte("\xfd7zXZ\x00 "+ext+" has text of its own, long enough\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(x.path+".audit", []byte("audit has text of its own, long enough\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strings.TrimSuffix(x.path, ".log")+"-2027-01-01T00-00-00.000.log", []byte(name(2)+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	x.write(name(3) + "\n")
	x.want(name(2) + "|" + name(3))
}

func TestHolesAndLineEnds(t *testing.T) {
	x := newFixture(t)
	hole := string(make([]byte, 1000))
	full := strings.Repeat("x", 64)
	x.write(hole + "a\n" + hole + "\n" + full + "\r\n" + full + full + "\nb\n" + hole)
	if got, want := x.all(Options{MaxLine: 64}), strings.Join([]string{"a", full, full, full, "b"}, "|"); got != want {
		t.Errorf("read %q, want %q", got, want)
	}
	f := follow(t, newFixture(t))
	f.source.o.MaxLine = 64
	f.write(full)
	f.write("\n")
	f.write("b\n")
	f.take(full + "|b")
}

func TestBefore(t *testing.T) {
	x := newFixture(t)
	x.write("one\ntwo\nthree\n")
	x.want("one|two|three")
	s, err := NewSource(x.path, x.book(), At(1, 8), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for most, want := range map[int]string{100: "one\ntwo\n", 6: "two\n", 2: ""} {
		if got := s.Before(most); string(got) != want {
			t.Errorf("%d: %q", most, got)
		}
	}
}
