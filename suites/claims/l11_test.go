package claims

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL11(t *testing.T) {
	c := claimL11(1)
	of := func(coded, meant, fewer float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			l11Reader: 8.2e9, l11First: 8.2e9 / coded, l11Pieces: 8.2e9 / meant,
		}))
		return judge(t, &c, m.sized(l11File).each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["parsed_share"], v.Syscalls["read"] = suitetest.About(1), 100
			switch v.Name {
			case l11First:
				v.Metrics["parsed_share"] = suitetest.About(0.087)
			case l11Reader:
				v.Syscalls["read"] = 100 * fewer
			}
		}))
	}
	expect(t, "as claimed", of(20, 20, 37), Holds)
	expect(t, "no faster", of(10, 1, 37), DoesNotHold)
	expect(t, "as many reads", of(20, 20, 1), DoesNotHold)
	got := of(25, 1.1, 37)
	expect(t, "by leaving most of it out", got, DoesNotHold)
	if !strings.Contains(got.Measured, "9 % of the log is read") {
		t.Errorf("what was left out is not mentioned: %s", got.Measured)
	}
	expect(t, "on the limit", of(20, 20*(1-slack), 37), CannotTell)
	expect(t, "as coded reads too little, and is slower", of(1, 20, 37), Holds)
}

// Lines of the long log fit the reader of 4 KiB, and all parsers agree on them.
func TestParsersOfLongLinesAgree(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	if err := datafile.Write(name, 4*datafile.MiB, logLines(l11Long)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := parseByReader(f, 0)
	if err != nil || want.bytes != 4*datafile.MiB || want.lines < 4*datafile.MiB/(2*l11Long+200) || want.lines > 4*datafile.MiB/l11Long {
		t.Fatalf("the log is %+v, %v", want, err)
	}
	for _, parse := range []func(*os.File, int64) (logCount, error){parsePieces, parseByLargeScanner} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if got, err := parse(f, datafile.MiB/3); err != nil || got != want {
			t.Errorf("%+v, %v; the log has %+v", got, err, want)
		}
	}
}

// All parsers of the whole log have the same results.
func TestParsersOfLogAgree(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	if err := datafile.Write(name, 2*datafile.MiB, logLines(l11Short)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var want logCount
	for _, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		want.add(line)
	}
	if want.bytes != 2*datafile.MiB || want.errors < want.lines/10 || want.lines < 10_000 {
		t.Fatalf("the log is %+v", want)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		name  string
		parse func(*os.File, int64) (logCount, error)
		piece int64
		whole bool
	}{
		{l11Reader, parseByReader, 0, true},
		{l11Pieces, parsePieces, 100_000, true},
		{l11Pieces, parsePieces, datafile.MiB, true},
		{l11Pieces, parsePieces, 16 * datafile.MiB, true},
		{l11Large, parseByLargeScanner, 0, true},
		{l11First, parseFirst, 100_000, false},
		{l11First, parseFirst, 16 * datafile.MiB, true},
	} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got, err := c.parse(f, c.piece)
		if err != nil || (got == want) != c.whole {
			t.Errorf("%s of %d: %+v, %v; the log has %+v", c.name, c.piece, got, err, want)
		}
		if !c.whole && (got.bytes > c.piece || got.bytes < c.piece-300) {
			t.Errorf("%s of %d parsed %d bytes", c.name, c.piece, got.bytes)
		}
	}
}
