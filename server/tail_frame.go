package server

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/stele-go/stele/internal/semaphore"
	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/server/internal/lokijson"
)

const (
	// tailLinger is how long a line may wait for others that share its message.
	tailLinger = 10 * time.Millisecond
	// A message has at most so many lines, or bytes of them.
	tailLines = 1000
	tailBytes = 256 << 10
)

// A tailer collects lines, and sends them in messages. An idle one has neither a timer for
// lines nor a buffer. While a message is written the next line waits, and so does the
// store, which drops what is more than its memory for tails.
type tailer struct {
	conn        *websocket.Conn
	ctx         context.Context         // until the client is gone
	end         context.CancelCauseFunc // ends the tail
	room        *semaphore.Weighted
	lost        prometheus.Counter
	delay       time.Duration // of a line, at most
	patience    time.Duration // for the client to take a message
	sorted      bool          // lines of a message are put in the order of their times
	categorized bool

	mu      sync.Mutex // held while a message is written
	lines   []logql.Line
	bytes   int64 // of lines
	held    int64 // of room
	dropped int64 // not yet told
	timer   *time.Timer
	closed  bool
}

// lineBytes is about how much memory a line takes beside its text.
const lineBytes = 200

func (t *tailer) add(line logql.Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := int64(len(line.Text)) + lineBytes
	for _, l := range line.Metadata {
		n += int64(len(l.Name) + len(l.Value))
	}
	for _, l := range line.Parsed {
		n += int64(len(l.Name) + len(l.Value))
	}
	t.lines = append(t.lines, line)
	t.bytes += n
	got := t.room.TryAcquire(n, 0)
	t.held += got
	if got < n || t.bytes >= tailBytes || len(t.lines) >= tailLines {
		t.send()
		return
	}
	t.sendLater()
}

// drop notes that the client was too slow for n lines.
func (t *tailer) drop(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropped += n
	t.lost.Add(float64(n))
	t.sendLater()
}

// sendLater sends a message once the oldest line is old enough. t.mu is held.
func (t *tailer) sendLater() {
	if t.timer == nil && !t.closed {
		t.timer = time.AfterFunc(t.delay, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.timer = nil
			t.send()
		})
	}
}

// send sends what there is. t.mu is held.
func (t *tailer) send() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	if len(t.lines) == 0 && t.dropped == 0 {
		return
	}
	if !t.closed {
		if err := t.write(); err != nil {
			t.closed = true
			t.end(err)
		}
	}
	t.free()
}

func (t *tailer) free() {
	if t.held > 0 {
		t.room.Release(t.held)
	}
	t.lines, t.bytes, t.held, t.dropped = nil, 0, 0, 0
}

func (t *tailer) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() == nil {
		t.send()
	}
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.free()
}

// keepAlive pings the client now and then, until stop is called: a peer that has vanished
// does not say so.
func (t *tailer) keepAlive() (stop func()) {
	var mu sync.Mutex
	var timer *time.Timer
	done := false
	var ping func()
	ping = func() {
		ctx, cancel := context.WithTimeout(t.ctx, tailWait)
		err := t.conn.Ping(ctx)
		cancel()
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.end(err)
		} else if !done {
			timer = time.AfterFunc(tailPing, ping)
		}
	}
	timer = time.AfterFunc(tailPing, ping)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		done = true
		timer.Stop()
	}
}

// write writes a message in the form of Loki's.
func (t *tailer) write() error {
	ctx, cancel := context.WithTimeout(t.ctx, t.patience)
	defer cancel()
	message, err := t.conn.Writer(ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	if t.sorted {
		slices.SortStableFunc(t.lines, func(a, b logql.Line) int { return cmp.Compare(a.Time, b.Time) })
	}
	w := tailWriters.Get().(*lokijson.Writer)
	w.Reset(message)
	writeTail(w, t.lines, t.categorized, t.dropped)
	err = w.Flush()
	w.Reset(io.Discard)
	tailWriters.Put(w)
	return cmp.Or(err, message.Close())
}

var tailWriters = sync.Pool{New: func() any { return lokijson.New(io.Discard) }}

// writeTail writes a message. Loki names each line that was dropped; how many there were is all
// that is known here, so one entry says so.
func writeTail(w *lokijson.Writer, lines []logql.Line, categorized bool, dropped int64) {
	w.BeginObject()
	w.Name("streams")
	writeStreams(w, lines, groupRuns(lines, categorized), categorized)
	if categorized {
		w.Name("encodingFlags")
		w.Strings([]string{"categorize-labels"})
	}
	if dropped > 0 {
		w.Name("dropped_entries")
		w.BeginArray()
		w.BeginObject()
		w.Name("labels")
		writeLabels(w, []logql.LabelPair{{Name: "dropped", Value: strconv.FormatInt(dropped, 10)}})
		w.Name("timestamp")
		w.Nanos(time.Now().UnixNano())
		w.EndObject()
		w.EndArray()
	}
	w.EndObject()
}
