package suites

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/stats"
)

const (
	pageBytes = 4 << 10
	mebibyte  = 1 << 20
)

// A bigFile is a file that all blocks of a run share.
type bigFile struct {
	*os.File
	size int64
	// release, where it is not nil, lets pages go that are locked in the page
	// cache.
	release func() error
}

// Close lets the pages go, too.
func (f *bigFile) Close() error { return errors.Join(f.letGo(), f.File.Close()) }

func (f *bigFile) letGo() error {
	release := f.release
	f.release = nil
	if release == nil {
		return nil
	}
	return release()
}

// Bounds of a large file beside its published size.
const (
	bigLeast   = 4 * mebibyte     // less is not worth testing
	bigTime    = 20 * time.Second // of writing
	bigSync    = 128 * mebibyte   // that are written are synced
	bigUnknown = 1 << 30          // where the system does not tell its free memory
)

// openBig opens the file that fill made, of want bytes where there is room:
// of a third of the memory that is available, so that it stays in the page
// cache, and a quarter of the free disk; and of no more than can be written in
// bigTime. How large it is goes into the metric file_bytes. fill is given
// one MiB after the other.
func openBig(b *lab.B, name string, want int64, fill func(p []byte)) (*bigFile, error) {
	dir, err := b.Shared(fmt.Sprintf("%s-%d", name, want), func(dir string) error {
		size, err := bigSize(dir, want)
		if err != nil {
			return err
		}
		return writeBig(filepath.Join(dir, name), size, fill)
	})
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	b.Report("file_bytes", float64(info.Size()))
	return &bigFile{File: f, size: info.Size()}, nil
}

func bigSize(dir string, want int64) (int64, error) {
	memory := memoryAvailable()
	if memory == 0 {
		memory = bigUnknown
	}
	size := min(want, memory/3)
	info, err := sys.StatFS(dir)
	switch {
	case err == nil:
		size = min(size, info.Free/4)
	case !errors.Is(err, errors.ErrUnsupported):
		return 0, err
	}
	size -= size % mebibyte
	if size < min(want-want%mebibyte, bigLeast) {
		return 0, &notHere{fmt.Sprintf("there is not room for a file of %s, of which the free disk holds four and the memory three", amount(bigLeast))}
	}
	return size, nil
}

func writeBig(name string, size int64, fill func(p []byte)) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	chunk, begun := make([]byte, mebibyte), time.Now()
	for done := int64(0); done < size && err == nil; done += int64(len(chunk)) {
		if done >= bigLeast && time.Since(begun) > bigTime {
			break
		}
		fill(chunk)
		_, err = f.Write(chunk)
		if err == nil && done%bigSync == 0 { // so that the time is that of the disk
			err = f.Sync()
		}
	}
	// Only what is written back can be taken out of the page cache again.
	return errors.Join(err, f.Sync(), f.Close())
}

// memoryAvailable is what can be had in bytes without swapping, 0 where that
// is not known. Page cache counts towards the limit of a control group.
func memoryAvailable() int64 {
	available := int64(0)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
				kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				available = kib << 10
			}
		}
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return available
	}
	for _, file := range memoryLimits(string(groups)) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil { // else it is "max"
			available = min(available, limit)
		}
	}
	return available
}

// memoryLimits are the files in which the limits of control groups stand, of
// those that /proc/self/cgroup names and of the ones above: of version 2 and
// of version 1.
func memoryLimits(groups string) (files []string) {
	for line := range strings.Lines(groups) { // 0::/a/b or 4:memory:/a/b
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		root, name := "/sys/fs/cgroup", "memory.max"
		if fields[0] != "0" {
			if !slices.Contains(strings.Split(fields[1], ","), "memory") {
				continue
			}
			root, name = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := path.Clean("/" + fields[2]); ; dir = path.Dir(dir) {
			files = append(files, path.Join(root, dir, name))
			if dir == "/" {
				break
			}
		}
	}
	return files
}

// noise fills with bytes that no file system can compress.
func noise() func(p []byte) {
	rng := rand.NewChaCha8([32]byte{1})
	return func(p []byte) { rng.Read(p) } // never fails
}

// warm brings all of the file into the page cache and makes sure of it. Where
// this process may lock so much memory it stays there until Close.
func (f *bigFile) warm() error {
	if err := f.read(); err != nil || f.release != nil {
		return err
	}
	release, err := pagecache.Lock(f.File, int(f.size))
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	f.release = release
	return err
}

// read brings it there, and leaves it to the kernel how long it stays.
func (f *bigFile) read() error {
	cached, err := pagecache.Cached(f.File)
	if err == nil && cached >= f.size {
		return nil
	}
	if _, err := io.Copy(struct{ io.Writer }{io.Discard}, io.NewSectionReader(f, 0, f.size)); err != nil {
		return err
	}
	cached, err = pagecache.Cached(f.File)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // an old kernel does not tell, and what was read just now is there
	}
	if err == nil && cached < f.size {
		err = &notHere{fmt.Sprintf("no file of %s can be warm here: %s of it stay in the page cache", amount(float64(f.size)), amount(float64(cached)))}
	}
	return err
}

// chill takes all of the file out of the page cache and makes sure of it.
func (f *bigFile) chill() error {
	if err := f.letGo(); err != nil {
		return err
	}
	return dropPages(f.File)
}

// warmPart leaves the first share of the file in the page cache, and takes out
// the rest.
func (f *bigFile) warmPart(share float64) error {
	if err := f.read(); err != nil {
		return err
	}
	part := int64(share*float64(f.size)) / pageBytes * pageBytes
	if err := sys.Fadvise(f.File, part, 0, sys.AdviseDontNeed); err != nil {
		return err
	}
	cached, err := pagecache.CachedRange(f.File, part, 0)
	if err == nil && cached > f.size/100 {
		err = &notHere{fmt.Sprintf("no part of a file can be cold here: %s of it stay in the page cache", amount(float64(cached)))}
	}
	return err
}

// mapped hands use the whole file as a mapping, whose pages are in the page
// table already.
func (f *bigFile) mapped(use func(data []byte) error) error {
	data, err := sys.Mmap(f.File, int(f.size), true)
	if err != nil {
		return err
	}
	return errors.Join(use(data), sys.Munmap(data))
}

// warmFile hands use a large file that is in the page cache.
func warmFile(b *lab.B, want int64, use func(f *bigFile) error) error {
	f, err := openBig(b, "noise", want, noise())
	if err != nil {
		return err
	}
	defer f.Close() // nothing is written
	if err := f.warm(); err != nil {
		return err
	}
	return use(f)
}

// warmMapping hands use the mapping of such a file.
func warmMapping(b *lab.B, want int64, use func(data []byte) error) error {
	return warmFile(b, want, func(f *bigFile) error { return f.mapped(use) })
}

// offsets are random multiples of step at which step bytes can be read, as
// many as a block seldom reads twice.
type offsets []int64

const offsetTable = 1 << 16 // a power of two

func randomOffsets(b *lab.B, size, step int64) offsets {
	t := make(offsets, offsetTable)
	for i := range t {
		t[i] = b.Rand.Int64N(size/step) * step
	}
	return t
}

func (t offsets) at(i int64) int64 { return t[i&(offsetTable-1)] }

// sumWords looks at every byte of p, of which there are a multiple of eight.
func sumWords(p []byte) (sum uint64) {
	for ; len(p) >= 8; p = p[8:] {
		sum += binary.LittleEndian.Uint64(p)
	}
	return sum
}

// firstWord looks at four bytes.
func firstWord(p []byte) uint64 { return uint64(binary.LittleEndian.Uint32(p)) }

// A stopclock times each operation by itself, as the reports did: two readings
// of the clock are in each figure.
type stopclock struct{ hist *lab.Histogram }

func newStopclock() stopclock { return stopclock{lab.NewHistogram()} }

func (s stopclock) since(begin time.Time) { s.hist.Record(max(1, int64(time.Since(begin)))) }

// report gives mean, median and 99th percentile under names with prefix.
func (s stopclock) report(b *lab.B, prefix string) {
	b.Report(prefix+"_mean_ns", s.hist.Mean())
	for _, p := range []float64{50, 99} {
		name := fmt.Sprintf("%s_p%.0f_ns", prefix, p)
		if err := stats.CheckPercentile(p, s.hist.Count(), 0.95); err != nil {
			b.ReportMissing(name, err.Error())
			continue
		}
		b.Report(name, s.hist.Quantile(p/100))
	}
}

// known is metric for figures that a machine need not have: why there is none
// is returned, and not noted as lacking.
func (f *found) known(id, name, metric string) (e lab.Estimate, why string) {
	v := f.variant(id, name)
	if v == nil {
		return noEstimate, "not measured"
	}
	if e, ok := v.Metrics[metric]; ok {
		return e, ""
	}
	if why := v.Missing[metric]; why != "" {
		return noEstimate, why
	}
	return noEstimate, "not reported"
}

// timesAcross says by how much a variant of one experiment is faster than one
// of another. They ran in different rounds: the interval is the widest that
// theirs allow.
func (f *found) timesAcross(slowID, slow, fastID, fast string) lab.Estimate {
	return quotient(f.time(slowID, slow), f.time(fastID, fast))
}

// smaller says that a file is not of the published size.
func (f *found) smaller(id, name string, published int64) string {
	if size := f.metric(id, name, "file_bytes").Median; size < float64(published) {
		return fmt.Sprintf(" The file has %s, not the published %s: it is as large as a third of the memory, a quarter of the free disk and %v of writing allow, and of a larger one the figures may differ.",
			amount(size), amount(float64(published)), bigTime)
	}
	return ""
}

// megabytes is the rate of operations of so many bytes in MB a second.
func megabytes(bytes float64, perOp lab.Estimate) string {
	return fmt.Sprintf("%.0f MB/s", bytes/perOp.Median*1e3)
}
