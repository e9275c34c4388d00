package logstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/hardlines"
)

// The reader in testdata/readsegment, which was written in Python from the package comments
// alone, finds in segments what queries find: so these comments say all that a reader
// needs.
func TestSegmentsAreReadByAnotherReader(t *testing.T) {
	t.Parallel()
	python := pythonWithZstd(t)
	dir := t.TempDir()
	for seed, codec := range []Codec{CodecLines, CodecColumns, CodecColumns} {
		fillSegment(t, dir, codec, uint64(seed))
	}
	compareReaders(t, python, dir)
	o := small()
	for _, o.Codec = range []Codec{CodecLines, CodecColumns} {
		s := openTest(t, dir, o)
		mustDo(t, s.Compact(t.Context()))
		mustDo(t, s.Close())
		compareReaders(t, python, dir)
	}
}

// The reader says what is wrong with a segment.
func TestAnotherReaderTellsDamage(t *testing.T) {
	t.Parallel()
	python := pythonWithZstd(t)
	dir := t.TempDir()
	s := openTest(t, dir, small())
	mustAppend(t, s, one(MustLabels("app", "a"), s.o.Clock.Now().UnixNano(), "a line"))
	mustDo(t, s.Seal(t.Context()))
	mustDo(t, s.Close())
	segment := segmentPaths(t, dir)[0]
	whole := must(os.ReadFile(segment))
	for _, c := range []struct {
		change func(p []byte) []byte
		says   string
	}{
		{func(p []byte) []byte { return p[:100] }, "no segment"},
		{func(p []byte) []byte { return p[:len(p)-1] }, "no segment"},
		{func(p []byte) []byte { p[8] = 9; return p }, "checksum"},
		{func(p []byte) []byte { p[96] ^= 1; return p }, "frame at offset 96: its checksum"},
		{func(p []byte) []byte { p[len(p)-200] ^= 1; return p }, "section table: its checksum"},
	} {
		mustDo(t, os.WriteFile(segment, c.change(bytes.Clone(whole)), 0o666))
		if out, err := runReader(t, python, segment); err == nil || len(out) > 0 || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q, %v; want an error that says %q", out, err, c.says)
		}
	}
	if _, err := runReader(t, python); err == nil || !strings.Contains(err.Error(), "usage:") {
		t.Errorf("without a file: %v", err)
	}
}

// fillSegment writes a segment.
func fillSegment(t *testing.T, dir string, codec Codec, seed uint64) {
	t.Helper()
	o := small()
	o.Codec = codec
	s := openTest(t, dir, o)
	for tenant, b := range segmentBatches(seed, s.o.Clock.Now().UnixNano()) {
		_, err := s.AppendWith(t.Context(), b, AppendOptions{Tenant: tenant})
		mustDo(t, err)
	}
	mustDo(t, s.Seal(t.Context()))
	mustDo(t, s.Close())
}

// compareReaders compares what queries find with what the reader does.
func compareReaders(t *testing.T, python, dir string) {
	t.Helper()
	s := openTest(t, dir, small())
	want := map[kept]int{}
	for _, tenant := range []string{"", "blue"} {
		for r, err := range s.Query(t.Context(), Query{Tenant: tenant}) {
			if err != nil {
				t.Fatal(err)
			}
			want[kept{tenant + "/" + r.Labels.enc, r.Time, string(r.Line), r.Metadata.enc}]++
		}
	}
	mustDo(t, s.Close())
	got := map[kept]int{}
	for _, name := range segmentPaths(t, dir) {
		out, err := runReader(t, python, name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		countRead(t, out, got)
	}
	sameCounts(t, "the reader in Python", got, want)
}

// pythonWithZstd returns a Python that has a module for zstd, or skips the test.
func pythonWithZstd(t *testing.T) string {
	t.Helper()
	const script = "import sys\nassert sys.version_info >= (3, 10)\ntry: import compression.zstd\nexcept ImportError: import zstandard"
	var why []string
	for _, name := range []string{"python3", "/usr/bin/python3", "python"} {
		out, err := exec.CommandContext(t.Context(), name, "-c", script).CombinedOutput()
		if err == nil {
			return name
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		why = append(why, fmt.Sprintf("%s: %v: %s", name, err, lines[len(lines)-1]))
	}
	t.Skip("no Python 3.10 with a module for zstd, which 3.14 has, and others by the package zstandard:\n" + strings.Join(why, "\n"))
	return ""
}

// runReader returns what the reader prints. The error has what it prints if it fails.
func runReader(t *testing.T, python string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, append([]string{"-B", filepath.Join("testdata", "readsegment", "readsegment.py")}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	return out, err
}

// countRead counts the entries that the reader prints.
func countRead(t *testing.T, out []byte, counts map[kept]int) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var e struct {
			Tenant     string
			Labels     map[string]string
			Time       int64
			Line       string
			LineBase64 []byte `json:"line_base64"`
			Metadata   map[string]string
		}
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		counts[kept{e.Tenant + "/" + encodedLabels(e.Labels), e.Time, e.Line + string(e.LineBase64), encodedLabels(e.Metadata)}]++
	}
}

// encodedLabels returns the encoding of labels.
func encodedLabels(m map[string]string) string {
	var list []string
	for name, value := range m {
		list = append(list, name, value)
	}
	return MustLabels(list...).enc
}

// segmentBatches returns a batch for each of two tenants, with lines of many kinds.
func segmentBatches(seed uint64, now int64) map[string]Batch {
	r := rand.New(rand.NewPCG(seed, 15))
	batches := map[string]Batch{}
	add := func(tenant, app string, n int, next func(at int64) string) {
		st := Stream{Labels: MustLabels("app", app, "host", fmt.Sprint("h", seed))}
		for i := range n {
			at := now - int64(n-i)*7_234_567 + r.Int64N(1000)
			e := Entry{Time: at, Line: []byte(next(at))}
			if i%3 == 0 && len(batches)%2 == 0 {
				e.Metadata = MustLabels("trace", fmt.Sprintf("%016x", r.Uint64()), "n", fmt.Sprint(i))
			}
			st.Entries = append(st.Entries, e)
		}
		batches[tenant] = append(batches[tenant], st)
	}
	for _, k := range hardlines.Kinds() {
		lines := k.Lines(seed)
		add("", "hard "+k.Name, 20, func(int64) string { return string(lines()) })
	}
	number := uint64(1<<63 - 300)
	add("", "numbers that cross the sign", 600, func(int64) string { number++; return fmt.Sprintf("number %016x", number) })
	for i, form := range lineForms {
		add([]string{"", "blue"}[i%2], fmt.Sprint("form ", i), 150, func(at int64) string { return form(r, at) })
	}
	return batches
}

// lineForms make lines with variables of all kinds; at is the time of the entry.
var lineForms = []func(r *rand.Rand, at int64) string{
	func(r *rand.Rand, at int64) string { // JSON
		return fmt.Sprintf(`{"ts":"%s","level":"%s","id":"%08x","took":%d.%03d,"user":{"name":"u%d","tags":[%d,%d]}}`,
			asTime(at, "2006-01-02T15:04:05.000Z"), oneOf(r, "info", "warn", "error"), r.Uint32(), r.IntN(90), r.IntN(1000), r.IntN(40), r.IntN(9), r.IntN(99))
	},
	func(r *rand.Rand, at int64) string { // logfmt
		return fmt.Sprintf("level=%s addr=10.%d.%d.%d:%d bytes=%d delta=%d dur=%dms ratio=%g key=%X", oneOf(r, "info", "debug"), r.IntN(3),
			r.IntN(256), r.IntN(256), 1024+r.IntN(60000), r.Int64N(1<<40), r.IntN(200)-100, r.IntN(5000), float64(r.IntN(1000))/8, r.Uint32())
	},
	func(r *rand.Rand, at int64) string { // syslog, and some values that do not fit
		return fmt.Sprintf("%s web sshd[%s]: Failed password for user%d from 192.168.0.%d port %05d", asTime(at, time.Stamp),
			seldom(r, "1x", fmt.Sprint(1000+r.IntN(500))), r.IntN(5), r.IntN(256), r.IntN(65536))
	},
	func(r *rand.Rand, at int64) string {
		return fmt.Sprintf("at %s request %08x-%04x-4000-8000-%012x sha %016x%016x count %d", asTime(at, "2006-01-02 15:04:05.000"),
			r.Uint32(), r.IntN(1<<16), r.Int64N(1<<48), r.Uint64(), r.Uint64(), at/1e6)
	},
	func(r *rand.Rand, at int64) string {
		return fmt.Sprintf("block blk_%d of /data/%c%d/part-%05d: %s", r.Int64()-r.Int64(), 'a'+rune(r.IntN(3)), r.IntN(9), r.IntN(100),
			oneOf(r, "ok", "lost", "-", "\x00\xff\xfe", "n/a 12", "1e-9", "0x1F", "007", "99999999999999999999"))
	},
	func(r *rand.Rand, at int64) string { // any bytes
		p := make([]byte, r.IntN(30))
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		return oneOf(r, "", "x", "two\nlines "+string(p), "\xff", strings.Repeat("7", r.IntN(40)), string(p))
	},
	func(r *rand.Rand, at int64) string { // many templates
		return fmt.Sprintf("%c%c: %d%%", 'a'+rune(r.IntN(26)), 'a'+rune(r.IntN(26)), r.IntN(100))
	},
	func(r *rand.Rand, at int64) string {
		return fmt.Sprintf("[%s] [notice] child %d, %d of %d bytes", asTime(at, "Mon Jan _2 15:04:05 2006"), 4000+at/1e9%100, r.IntN(10)*r.IntN(2)*4096, 1<<r.IntN(62))
	},
	func(r *rand.Rand, at int64) string {
		return fmt.Sprintf("%d.%06d - %s +0000 GET /items/%d?q=%d%%", at/1e9, at/1e3%1e6, asTime(at, "02/Jan/2006:15:04:05"), 1e6+r.Int64N(3)*1e9, r.IntN(100))
	},
	func(r *rand.Rand, at int64) string {
		return fmt.Sprintf("%s INFO dfs: %d served in %d.%ds", asTime(at, "060102 150405"), []int64{200, 201, 304, 1 << 40}[r.IntN(4)], r.IntN(9), r.IntN(9))
	},
}

func asTime(at int64, layout string) string { return time.Unix(0, at).UTC().Format(layout) }

func oneOf(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// seldom returns one of 40 times a, and b else.
func seldom(r *rand.Rand, a, b string) string {
	if r.IntN(40) == 0 {
		return a
	}
	return b
}
