package fileio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/profile"
)

var record = []byte(strings.Repeat("r", 1000))

// create creates an empty file in a new directory.
func create(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// newWriter skips the test where the way or the mechanism is not supported.
func newWriter(t testing.TB, f *os.File, o fileio.WriterOptions) *fileio.Writer {
	t.Helper()
	w, err := fileio.NewWriter(f, o)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holds fails unless the file has exactly these bytes.
func holds(t testing.TB, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(name)
	ok(t, err)
	if !bytes.Equal(got, want) {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Fatalf("%s has %d bytes, want %d; they differ from offset %d on", filepath.Base(name), len(got), len(want), at)
	}
}

func mechanisms() []fileio.Mechanism {
	if runtime.GOOS != "linux" {
		return []fileio.Mechanism{fileio.SyncAuto, fileio.SyncFdatasync, fileio.SyncFsync, fileio.SyncDsync}
	}
	return []fileio.Mechanism{fileio.SyncAuto, fileio.SyncFdatasync, fileio.SyncFsync, fileio.SyncDsync, fileio.SyncODsync, fileio.SyncRange}
}

func policies() []fileio.Policy {
	return []fileio.Policy{fileio.OnCommit(), fileio.EachWrite(), fileio.EveryBytes(50_000), fileio.EveryInterval(time.Millisecond), fileio.Never()}
}

// The file has the written bytes, whatever the sizes of the writes, with every way,
// mechanism and policy, from any offset, and with any calls in between.
func TestWriterContent(t *testing.T) {
	const seed = 20261121
	ways := []fileio.Way{fileio.Buffered, fileio.Direct, fileio.Uncached}
	for i, way := range ways {
		for j, m := range mechanisms()[1:] {
			for k, p := range policies() {
				t.Run(fmt.Sprintf("%v/%s/%v", way, m, p), func(t *testing.T) {
					if m == fileio.SyncODsync && p == fileio.Never() {
						t.Skip("refused")
					}
					t.Parallel()
					rnd := rand.New(rand.NewPCG(seed, uint64(i*100+j*10+k)))
					writeRandomly(t, rnd, fileio.WriterOptions{Way: way, Sync: m, Policy: p})
				})
			}
		}
	}
}

func writeRandomly(t *testing.T, rnd *rand.Rand, o fileio.WriterOptions) {
	f := create(t)
	model := make([]byte, rnd.IntN(20_000))
	fill(rnd, model)
	_, err := f.Write(model) // the file is overwritten from some offset on
	ok(t, err)
	at := rnd.IntN(len(model) + 10_000)
	_, err = f.Seek(int64(at), io.SeekStart)
	ok(t, err)
	o.BufferSize = []int{0, 1, 8192, 100_000}[rnd.IntN(4)]
	o.Preallocate = []int64{0, 1 << 16}[rnd.IntN(2)]
	w := newWriter(t, f, o)
	large := fileio.AlignedBuffer(300_000)
	fill(rnd, large)
	for range 20 {
		size := []int{0, 1, 7, 100, 511, 4096, 4097, 8192, 65536, 200_000}[rnd.IntN(10)]
		from := rnd.IntN(2) * rnd.IntN(50_000) // aligned memory, and not
		p := large[from : from+size]
		var n int
		switch rnd.IntN(4) {
		case 0:
			n, err = w.WriteString(string(p))
		case 1:
			var m int64
			m, err = w.ReadFrom(iotest.HalfReader(bytes.NewReader(p)))
			n = int(m)
		default:
			n, err = w.Write(p)
		}
		if n != size || err != nil {
			t.Fatalf("%d of %d: %v", n, size, err)
		}
		model = overwrite(model, at, p)
		at += size
		if w.Offset() != int64(at) {
			t.Fatalf("offset %d, want %d", w.Offset(), at)
		}
		switch rnd.IntN(8) {
		case 0:
			ok(t, w.Flush())
			holds(t, f.Name(), model)
		case 1:
			ok(t, w.Commit())
			holds(t, f.Name(), model)
			if d := w.Durable(); o.Policy != fileio.Never() && o.Sync != fileio.SyncRange && d != int64(at) {
				t.Fatalf("after a commit at %d, %d is durable", at, d)
			}
		case 2:
			ok(t, w.Sync())
		}
	}
	ok(t, w.Close())
	holds(t, f.Name(), model)
	if now, err := f.Seek(0, io.SeekCurrent); now != int64(at) || err != nil {
		t.Errorf("the file is at %d, %v; want %d", now, err, at)
	}
	if way := w.Way(); o.Way == fileio.Direct && way != o.Way || w.Stats().Fallback != nil && o.Way != fileio.Uncached && runtime.GOOS == "linux" {
		t.Errorf("it took the way %v: %v", way, w.Stats().Fallback)
	}
}

func fill(rnd *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
}

// overwrite returns the content of a file after p was written at off.
func overwrite(file []byte, off int, p []byte) []byte {
	if len(p) == 0 {
		return file
	}
	if grow := off + len(p) - len(file); grow > 0 {
		file = append(file, make([]byte, grow)...)
	}
	copy(file[off:], p)
	return file
}

// Each policy syncs as documented, and not more often.
func TestPolicyCounts(t *testing.T) {
	for _, c := range []struct {
		name    string
		o       fileio.WriterOptions
		durable []int64 // after each write of 1,000 bytes
		syncs   int64   // after them, a Flush, a Commit and another Commit
		calls   int64
	}{
		{"on commit", fileio.WriterOptions{}, []int64{0, 0, 0, 0}, 1, 1},
		{"on commit, a small buffer", fileio.WriterOptions{BufferSize: 1}, []int64{0, 0, 0, 0}, 1, 1},
		{"each write", fileio.WriterOptions{Policy: fileio.EachWrite()}, []int64{1000, 2000, 3000, 4000}, 4, 4},
		{"every 2,500", fileio.WriterOptions{Policy: fileio.EveryBytes(2500)}, []int64{0, 0, 3000, 3000}, 2, 2},
		{"every 1,000", fileio.WriterOptions{Policy: fileio.EveryBytes(1000)}, []int64{1000, 2000, 3000, 4000}, 4, 4},
		{"every 1,001", fileio.WriterOptions{Policy: fileio.EveryBytes(1001)}, []int64{0, 2000, 2000, 4000}, 2, 2},
		{"every hour", fileio.WriterOptions{Policy: fileio.EveryInterval(time.Hour)}, []int64{0, 0, 0, 0}, 1, 1},
		{"never", fileio.WriterOptions{Policy: fileio.Never()}, []int64{0, 0, 0, 0}, 0, 1},
		{"on commit, sync_file_range", fileio.WriterOptions{Sync: fileio.SyncRange}, []int64{0, 0, 0, 0}, 1, 1},
		{"each write, dsync", fileio.WriterOptions{Policy: fileio.EachWrite(), Sync: fileio.SyncDsync}, []int64{1000, 2000, 3000, 4000}, 4, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS != "linux" && c.o.Sync != "" {
				t.Skip("Linux only")
			}
			f := create(t)
			w := newWriter(t, f, c.o)
			var durable []int64
			for range 4 {
				_, err := w.Write(make([]byte, 1000))
				ok(t, err)
				durable = append(durable, w.Durable())
			}
			ok(t, w.Flush())
			ok(t, w.Commit())
			ok(t, w.Commit())
			if s := w.Stats(); fmt.Sprint(durable) != fmt.Sprint(c.durable) || s.Syncs != c.syncs || s.Calls != c.calls || s.Writes != 4 || s.Bytes != 4000 {
				t.Errorf("durable %v, want %v; %+v, want %d syncs, %d calls", durable, c.durable, s, c.syncs, c.calls)
			}
			ok(t, w.Close())
		})
	}
}

// The interval is kept, and the timer stops while there is nothing to sync.
func TestEveryInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const every = 20 * time.Millisecond
		f := create(t)
		var syncs []time.Time
		w := newWriter(t, f, fileio.WriterOptions{Policy: fileio.EveryInterval(every), Trace: func(op fileio.Op) {
			if op.Kind == fileio.OpSync {
				syncs = append(syncs, op.Start)
			}
		}})
		for i := range 3 {
			begin := time.Now()
			_, err := w.Write([]byte("some bytes"))
			ok(t, err)
			time.Sleep(every - time.Nanosecond)
			synctest.Wait()
			if len(syncs) != i || w.Durable() != int64(10*i) {
				t.Errorf("%d syncs before the time has come, of %d writes", len(syncs), i+1)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if len(syncs) != i+1 || syncs[i].Sub(begin) != every {
				t.Fatalf("synced at %v, written at %v", syncs, begin)
			}
			if d := w.Durable(); d != int64(10*(i+1)) {
				t.Errorf("%d bytes are durable after %d syncs", d, i+1)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(syncs) != 3 {
			t.Errorf("%d syncs of 3 writes", len(syncs))
		}
		ok(t, w.Close())
	})
}

// If a timed flush fails, every later call returns its error.
func TestEveryIntervalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := create(t)
		w := newWriter(t, f, fileio.WriterOptions{Policy: fileio.EveryInterval(time.Millisecond)})
		ok(t, f.Close())
		_, err := w.WriteString("to a file that is closed")
		ok(t, err)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if w.Err() == nil {
			t.Fatal("no error")
		}
		if n, err := w.WriteString("more"); n != 0 || err != w.Err() {
			t.Errorf("%d, %v", n, err)
		}
		if err := w.Close(); err != w.Err() {
			t.Error(err)
		}
	})
}

func TestPromise(t *testing.T) {
	for _, c := range []struct {
		p             fileio.Policy
		m             fileio.Mechanism
		write, commit durability.Level
	}{
		{fileio.Policy{}, fileio.SyncAuto, durability.None, durability.Power},
		{fileio.EachWrite(), fileio.SyncDsync, durability.Power, durability.Power},
		{fileio.EveryBytes(100), fileio.SyncFsync, durability.None, durability.Power},
		{fileio.EveryInterval(time.Second), fileio.SyncFdatasync, durability.None, durability.Power},
		{fileio.Never(), fileio.SyncFdatasync, durability.None, durability.Kill},
		{fileio.OnCommit(), fileio.SyncRange, durability.None, durability.Kill},
		{fileio.EachWrite(), fileio.SyncRange, durability.Kill, durability.Kill},
	} {
		w := newWriter(t, create(t), fileio.WriterOptions{Policy: c.p, Sync: c.m})
		write, commit := w.Promise()
		if write.Level != c.write || commit.Level != c.commit || write.After != durability.Torn {
			t.Errorf("%v by %q: %v after a write, %v after a commit", c.p, c.m, write, commit)
		}
		ok(t, w.Close())
	}
}

func TestWriterRefuses(t *testing.T) {
	for _, o := range []fileio.WriterOptions{
		{Way: fileio.Mapped}, {Way: 99}, {BufferSize: -1}, {BufferSize: 2 << 30}, {Preallocate: -1}, {Sync: "sometimes"},
		{Policy: fileio.EveryBytes(0)}, {Policy: fileio.EveryInterval(0)},
		{Policy: fileio.Never(), Sync: fileio.SyncODsync},
		{Profile: &profile.Profile{Write: profile.Write{Way: "sideways"}}},
		{Profile: &profile.Profile{Write: profile.Write{Way: "mapped"}}},
		{Profile: &profile.Profile{Write: profile.Write{Sync: "sometimes"}}},
	} {
		if _, err := fileio.NewWriter(create(t), o); err == nil || !strings.HasPrefix(err.Error(), "fileio: WriterOptions.") || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	r, w, err := os.Pipe()
	ok(t, err)
	defer r.Close()
	defer w.Close()
	if _, err := fileio.NewWriter(w, fileio.WriterOptions{}); err == nil {
		t.Error("a pipe has an offset")
	}
	if _, err := fileio.NewWriter((*os.File)(nil), fileio.WriterOptions{}); !errors.Is(err, os.ErrInvalid) {
		t.Error(err)
	}
}

// The profile sets the options that were not set.
func TestWriterProfile(t *testing.T) {
	p := &profile.Profile{Write: profile.Write{BufferSize: 8192, Sync: "dsync"}}
	w := newWriter(t, create(t), fileio.WriterOptions{Profile: p})
	_, err := w.Write(make([]byte, 8192)) // as large as the buffer
	ok(t, err)
	if s := w.Stats(); s.Calls != 1 || w.Mechanism() != fileio.SyncDsync {
		t.Errorf("%+v by %s", s, w.Mechanism())
	}
	w = newWriter(t, create(t), fileio.WriterOptions{Profile: p, BufferSize: 16384, Sync: fileio.SyncFsync})
	_, err = w.Write(make([]byte, 8192))
	ok(t, err)
	if s := w.Stats(); s.Calls != 0 || w.Mechanism() != fileio.SyncFsync {
		t.Errorf("%+v by %s", s, w.Mechanism())
	}
}

func TestWriterClosed(t *testing.T) {
	f := create(t)
	w := newWriter(t, f, fileio.WriterOptions{Policy: fileio.EveryInterval(time.Millisecond)})
	_, err := w.Write([]byte("last words"))
	ok(t, err)
	ok(t, w.Close())
	_, werr := w.Write([]byte("more"))
	_, rerr := w.ReadFrom(strings.NewReader("more"))
	for _, err := range []error{werr, rerr, w.Flush(), w.Commit(), w.Sync(), w.Close()} {
		if !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
	holds(t, f.Name(), []byte("last words"))
	_, err = f.WriteString(" and those of the file") // still open
	ok(t, err)
	holds(t, f.Name(), []byte("last words and those of the file"))
}

// A failed write is final, and reports how many bytes were written.
func TestWriterFails(t *testing.T) {
	f := create(t)
	ok(t, os.WriteFile(f.Name(), []byte("old"), 0o600))
	w := newWriter(t, f, fileio.WriterOptions{})
	ok(t, f.Close())
	n, err := w.Write([]byte("buffered"))
	if n != 8 || err != nil {
		t.Fatal(n, err)
	}
	first := w.Flush()
	if pe, ok := errors.AsType[*fs.PathError](first); !ok || pe.Op != "write" || pe.Path != f.Name() {
		t.Errorf("%v", first)
	}
	n, err = w.Write([]byte("more"))
	if n != 0 || err != first || w.Err() != first || w.Sync() != first || w.Close() != first || w.Offset() != 0 {
		t.Errorf("%d, %v, %v, offset %d", n, err, w.Err(), w.Offset())
	}
	holds(t, f.Name(), []byte("old"))
}

func TestReadFrom(t *testing.T) {
	src := create(t)
	data := make([]byte, 3<<20+17)
	fill(rand.New(rand.NewPCG(1, 2)), data)
	_, err := src.Write(data)
	ok(t, err)
	for _, c := range []struct {
		name   string
		o      fileio.WriterOptions
		from   func() io.Reader
		want   []byte
		copied bool
	}{
		{"file", fileio.WriterOptions{}, func() io.Reader { return src }, data, true},
		{"part of a file", fileio.WriterOptions{}, func() io.Reader { return io.LimitReader(src, 2<<20) }, data[:2<<20], true},
		{"part of a file", fileio.WriterOptions{}, func() io.Reader { return io.LimitReader(src, 1000) }, data[:1000], false},
		{"other", fileio.WriterOptions{}, func() io.Reader { return iotest.HalfReader(src) }, data, false},
		{"direct", fileio.WriterOptions{Way: fileio.Direct}, func() io.Reader { return src }, data, false},
		{"each write", fileio.WriterOptions{Policy: fileio.EachWrite()}, func() io.Reader { return src }, data, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := src.Seek(0, io.SeekStart)
			ok(t, err)
			f := create(t)
			w := newWriter(t, f, c.o)
			_, err = w.WriteString("head ")
			ok(t, err)
			n, err := io.Copy(w, c.from())
			if n != int64(len(c.want)) || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
			if c.o.Policy == fileio.EachWrite() && w.Durable() != w.Offset() {
				t.Errorf("%d of %d bytes are durable", w.Durable(), w.Offset())
			}
			if s := w.Stats(); runtime.GOOS == "linux" && (s.Copied > 0) != c.copied {
				t.Errorf("the kernel copied %d bytes", s.Copied)
			}
			_, err = w.WriteString(" tail")
			ok(t, err)
			ok(t, w.Close())
			holds(t, f.Name(), fmt.Appendf(nil, "head %s tail", c.want))
			if left, err := io.ReadAll(src); err != nil || !strings.HasPrefix(c.name, "part") && len(left) > 0 || strings.HasPrefix(c.name, "part") && len(left) != len(data)-len(c.want) {
				t.Errorf("%d bytes are left to read, %v", len(left), err)
			}
		})
	}
	broken := errors.New("broken")
	w := newWriter(t, create(t), fileio.WriterOptions{})
	if n, err := w.ReadFrom(io.MultiReader(strings.NewReader("some"), iotest.ErrReader(broken))); n != 4 || err != broken {
		t.Errorf("%d, %v", n, err)
	}
	if w.Err() != nil {
		t.Error("the error of a reader is not the writer's")
	}
}
