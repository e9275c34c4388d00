package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/stele-go/stele/profile"
)

var (
	// errReadOnly reports a change of segments that are open for reading only.
	errReadOnly = errors.New("the segments are open for reading only")
	// ErrScratch reports that segments in memory would take too many bytes.
	ErrScratch = errors.New("the memory for segments is used up")
)

// OpenReadOnly opens every segment in dir/segments, and changes nothing there. No
// segments at all is no error.
//
// What is published, and what is salvaged of segments whose index is damaged, is
// kept in memory, in at most scratch bytes. A segment that cannot be served is told
// to Options.Events, and in Missing; the others are served. Nothing is compacted,
// retired or moved into quarantine, so Maintain is not called.
func OpenReadOnly(ctx context.Context, dir string, scratch int64, o Options) (*Catalog, error) {
	entries, err := os.ReadDir(filepath.Join(dir, SegmentDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	at := newReadPlace(o.Profile, scratch)
	for _, e := range entries {
		if _, ok := parseName(e.Name()); ok {
			at.add(e.Name(), filepath.Join(dir, SegmentDir, e.Name()))
		}
	}
	at.quarantine = filepath.Join(dir, QuarantineDir)
	o.ReadOnly = true
	return Open(ctx, at, o)
}

// OpenFiles opens segments wherever they lie, as OpenReadOnly does. Each is served,
// whatever positions it has, also those that others have too: as it would be if file
// i held the position i+1 alone, whatever its name.
func OpenFiles(ctx context.Context, files []string, scratch int64, o Options) (*Catalog, error) {
	at := newReadPlace(o.Profile, scratch)
	for i, file := range files {
		at.add(positions{after: uint64(i), upto: uint64(i) + 1}.String(), file)
	}
	o.ReadOnly, o.anyPositions = true, true
	return Open(ctx, at, o)
}

// A readPlace is files, none of which it changes, and segments in memory.
type readPlace struct {
	profile    *profile.Profile
	names      []string
	paths      map[string]string // by name
	quarantine string            // directory, or ""

	mu   sync.Mutex
	made map[string][]byte // segments in memory
	left int64             // bytes that they may still take
}

func newReadPlace(p *profile.Profile, scratch int64) *readPlace {
	return &readPlace{profile: p, paths: map[string]string{}, made: map[string][]byte{}, left: scratch}
}

func (p *readPlace) add(name, path string) {
	p.names = append(p.names, name)
	p.paths[name] = path
}

func (p *readPlace) List(context.Context) ([]string, error) { return p.names, nil }

func (p *readPlace) Quarantined(context.Context) (int, error) {
	if p.quarantine == "" {
		return 0, nil
	}
	return countQuarantined(p.quarantine)
}

// Path returns the name itself for a segment in memory.
func (p *readPlace) Path(name string) string {
	if path := p.paths[name]; path != "" {
		return path
	}
	return name
}

func (p *readPlace) File(name string) (path string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, made := p.made[name]; made {
		return "", false
	}
	path, ok = p.paths[name]
	return path, ok
}

func (p *readPlace) Open(_ context.Context, name string) (Object, int64, error) {
	p.mu.Lock()
	content, ok := p.made[name]
	p.mu.Unlock()
	if ok {
		return &memObject{bytes.NewReader(content), name, content}, int64(len(content)), nil
	}
	path, ok := p.paths[name]
	if !ok {
		return nil, 0, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return openFile(path, p.profile)
}

func (p *readPlace) Create(_ context.Context, name string) (Writer, error) {
	return &memWriter{place: p, name: name}, nil
}

func (p *readPlace) Remove(_ context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if content, ok := p.made[name]; ok {
		p.left += int64(cap(content))
		delete(p.made, name)
		return nil
	}
	return fmt.Errorf("catalog: remove %s: %w", p.Path(name), errReadOnly)
}

func (p *readPlace) SetAside(_ context.Context, name string, _ func(string) string) (string, error) {
	return "", fmt.Errorf("catalog: quarantine %s: %w", p.Path(name), errReadOnly)
}

func (p *readPlace) Unsynced() bool                  { return false }
func (p *readPlace) Sync(context.Context) error      { return nil }
func (p *readPlace) SyncNames(context.Context) error { return nil }
func (p *readPlace) Close() error                    { return nil }

// take takes n bytes for segments in memory.
func (p *readPlace) take(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > p.left {
		return ErrScratch
	}
	p.left -= n
	return nil
}

// give gives n bytes back.
func (p *readPlace) give(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += n
}

// A memWriter writes a segment in memory.
type memWriter struct {
	place   *readPlace
	name    string
	content []byte
	done    bool
}

func (w *memWriter) Write(b []byte) (int, error) {
	if need := len(w.content) + len(b); need > cap(w.content) {
		size := max(need, cap(w.content)+max(1<<20, cap(w.content)/4))
		if err := w.place.take(int64(size)); err != nil {
			return 0, err
		}
		was := cap(w.content)
		w.content = append(make([]byte, 0, size), w.content...)
		w.place.give(int64(was))
	}
	w.content = append(w.content, b...)
	return len(b), nil
}

func (w *memWriter) Writeback(int64, int64) {}

func (w *memWriter) Commit() (named bool, err error) {
	w.done = true
	w.place.mu.Lock()
	defer w.place.mu.Unlock()
	w.place.made[w.name] = w.content
	return true, nil
}

func (w *memWriter) Abort() {
	if !w.done {
		w.done = true
		w.place.give(int64(cap(w.content)))
	}
}

// A memObject is a segment in memory.
type memObject struct {
	*bytes.Reader
	name    string
	content []byte
}

func (o *memObject) Name() string { return o.name }

func (o *memObject) View(off int64, n int, f func([]byte) error) error {
	if off < 0 || n < 0 || off > int64(len(o.content))-int64(n) {
		return io.ErrUnexpectedEOF
	}
	return f(o.content[off : off+int64(n) : off+int64(n)])
}

func (o *memObject) Close() error { return nil }
