package wal

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stele-go/stele/durability"
)

// Segments of a smaller size, prepared before the option changed, are skipped
// by records that do not fit.
func TestLongerThanSpares(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	l := must(Open(dir, Options{SegmentSize: minSegmentSize, Spares: 2}))(t)
	must(l.Append(ctx, []byte("short")))(t)
	for l.Stats().Prepared < 2 {
		must(l.Append(ctx, nil))(t)
	}
	_, next := l.Bounds()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	long := make([]byte, 200<<10)
	fillGarbage(long, 1)
	l = must(Open(dir, Options{SegmentSize: 1 << 20}))(t)
	if pos, err := l.Append(ctx, long); pos != next || err != nil {
		t.Fatalf("position %d, %v; want %d", pos, err, next)
	}
	r := must(l.Reader(next))(t)
	if rec := must(r.Next())(t); !slices.Equal(rec.Data, long) {
		t.Error("other bytes were read")
	}
	n := Position(0)
	for rec, err := range l.All(0) {
		if n++; err != nil || rec.Position != n {
			t.Fatalf("record %d at the place of %d, %v", rec.Position, n, err)
		}
	}
	if n != next {
		t.Errorf("%d records, want %d", n, next)
	}
	if err := errors.Join(r.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	rep, err := Verify(dir)
	if err != nil || rep.Next != next+1 || !rep.Clean {
		t.Errorf("%+v, %v", rep, err)
	}
}

// A full segment with a closed mark, whose end record a crash has torn, has no
// space for a second closed mark.
func TestEndTornBehindClosedMark(t *testing.T) {
	dir := t.TempDir()
	p, _ := openPen(t, dir, small())
	p.append(make([]byte, p.g.maxPayload(p.off)))
	p.close()
	p, _ = openPen(t, dir, small())
	if err := p.g.write([]byte("torn"), p.off+4); err != nil {
		t.Fatal(err)
	}
	p.kill()
	p, rep := openPen(t, dir, small())
	if rep.Torn == nil {
		t.Fatal("nothing is torn")
	}
	p.close()
	p, _ = openPen(t, dir, small())
	p.append([]byte("more"))
	p.close()
	if rep, err := Verify(dir); err != nil || rep.Next != 3 || !rep.Clean {
		t.Errorf("%+v, %v", rep, err)
	}
}

// While the log goes on to the next segment, a Reader may find that segment
// before the tail is in it.
func TestTailBeforeNextSegment(t *testing.T) {
	var a tail
	a.publish(7, 50_000)
	for number, want := range map[uint64]int64{6: unlimited, 7: 50_000, 8: firstOffset} {
		if got := a.limit(number); got != want {
			t.Errorf("segment %d is read up to %d, want %d", number, got, want)
		}
	}
}

// Heads across two chunks of a search are found, and counted once.
func TestTearAtSeams(t *testing.T) {
	g := memorySegment(t, nil)
	g.size = 3 * searchChunk
	rec := []byte("more than a few bytes, as this takes long under the race detector")
	for shift := range int64(2) { // heads at other places, relative to the chunks
		var content []byte
		n := 0
		for off := firstOffset + shift; off+headerSize+100 < g.size; n++ {
			before := len(content)
			content = g.appendRecord(content, off, typeData, Position(5+n%5), 0, checksum(rec), rec)
			off += int64(len(content) - before)
		}
		if err := errors.Join(g.file.Truncate(0), g.file.Truncate(g.size)); err != nil {
			t.Fatal(err)
		}
		if err := g.write(content, firstOffset+shift); err != nil {
			t.Fatal(err)
		}
		if got, err := searchTornTail(g, firstOffset, 5, 9); err != nil || got.heads != n || got.records != n {
			t.Errorf("shifted by %d: %+v, %v; want %d records", shift, got, err, n)
		}
	}
}

// If the file kept for recycling has been removed, a new one is created.
func TestLeftoverRemoved(t *testing.T) {
	p, _ := openPen(t, t.TempDir(), Options{SegmentSize: minSegmentSize})
	defer p.close()
	p.s.free = append(p.s.free, 77)
	g, err := p.s.createSegment(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.close(); err != nil || g.recycledFrom != 0 {
		t.Errorf("was %d, %v", g.recycledFrom, err)
	}
}

// After Close another process may recycle a file that a Reader still has open:
// that is not damage.
func TestReaderOfRecycled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a reader holds its segment until it is collected, and a directory with an open file cannot be removed there")
	}
	dir := t.TempDir()
	ctx := context.Background()
	o := Options{SegmentSize: minSegmentSize, Level: durability.Kill}
	l := must(Open(dir, o))(t)
	rec := make([]byte, 15<<10)
	for l.Stats().Switch.Count() == 0 {
		must(l.Append(ctx, rec))(t)
	}
	r := must(l.Reader(1))(t)
	r.scan.buf = make([]byte, 0, 16<<10) // so that it reads record by record
	must(r.Next())(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	other := must(Open(dir, o))(t)
	defer other.Close()
	_, next := other.Bounds()
	if err := other.TruncateBefore(next); err != nil {
		t.Fatal(err)
	}
	for other.Stats().Switch.Count() < 3 {
		must(other.Append(ctx, rec))(t)
	}
	for {
		_, err := r.Next()
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
		break
	}
}

// A truncation after Close leaves META to the process that has the log now.
func TestTruncateAfterClose(t *testing.T) {
	dir := t.TempDir()
	p, _ := openPen(t, dir, small())
	p.append(payload(1), payload(2))
	p.close()
	if err := p.s.truncate(2); !errors.Is(err, ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
}

// A process that is being started may hold a copy of every descriptor until it
// executes its program. Close releases the lock all the same.
func TestLockIsNotInherited(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	p, _ := openPen(t, dir, small())
	child := exec.Command(sleep, "60")
	child.ExtraFiles = []*os.File{p.s.lock}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	p.close()
	p, _ = openPen(t, dir, small())
	p.close()
}

// Open removes the file of a probe whose process was killed.
func TestProbeFileIsRemoved(t *testing.T) {
	dir := t.TempDir()
	f, err := namedProbe(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	p, _ := openPen(t, dir, small())
	p.close()
	for _, name := range names(t, dir) {
		if filepath.Ext(name) == tempExt {
			t.Errorf("%s is left", name)
		}
	}
}
