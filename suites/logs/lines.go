package logs

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Lines generates realistic log lines, the same ones for the same seed: those of
// built-in systems (lines_systems.go), or of real logs, repeated again and again
// (lines_corpus.go). Times, numbers and IDs change as they do in real logs. A line has
// about 140 bytes on average. Some 400 streams share the lines, and a few of them have
// most; a Source with another number of streams deals one line to each in turn
// (lines_many.go). Lines is for one goroutine; Fork returns more.
type Lines struct {
	*logSystems
	// now is the time of the last line. It grows by 131 us a line on average.
	now    int64
	rng    rand.PCG
	hosts  []logHost // of each system, logHosts each
	clock  logClock
	count  int64 // lines so far
	plants []logPlant
	line   []byte
}

// A Line is a line and the labels of its stream.
type Line struct {
	App, Host, Level string
	Stream           int    // number of the stream, from 0; see Lines.Labels
	Time             int64  // ns; whole milliseconds for half of the systems
	Line             []byte // valid until the next line is made
}

// A logStream has the labels of all lines of a stream.
type logStream struct{ App, Host, Level string }

// logSystems has the sources of lines. It does not change, and is shared.
type logSystems struct {
	systems []logSystem
	streams []logStream // nil if there are many
	many    logMany
	bytes   []byte // what parts refer to
	// Which system, and which of its hosts, has the next line.
	system, host logChoice
}

// A logSystem is one kind of program, which runs on all hosts.
type logSystem struct {
	name   string
	millis bool // its clock has milliseconds
	levels []string
	first  int // its first stream; they are ordered by host, then level

	// A system of a corpus has its lines in order, and the level of each. A built-in
	// system has templates for each level.
	lines   []logTemplate
	levelOf []uint8
	byLevel [][]logTemplate
	level   logChoice
}

const (
	logHosts = 20
	// logStart is when the first line is written, in ns: early in 2026.
	logStart = 1_767_600_000_000_000_000
)

// logLevels has the names of levels, by logDebug and so on.
var logLevels = [...]string{"debug", "info", "warn", "error"}

const (
	logDebug = iota
	logInfo
	logWarn
	logError
)

// NewLines returns lines of a source, the same ones for the same seed.
func NewLines(seed uint64, from Source) (*Lines, error) { return newLines(seed, from) }

// newLines makes lines from a source.
func newLines(seed uint64, from Source) (*Lines, error) {
	var b logBuilder
	err := from.Check()
	switch {
	case err != nil:
	case from.Corpus == "":
		err = b.addBuiltin()
	default:
		err = b.addCorpus(from.Corpus)
	}
	if err != nil {
		return nil, fmt.Errorf("log lines: %w", err)
	}
	s := b.finish()
	if from.many() {
		s.streams, s.many = nil, newLogMany(s.systems, from.Streams)
	}
	return (&Lines{logSystems: s}).Fork(seed), nil
}

// Fork returns another sequence of lines of the same systems and streams,
// which starts early in 2026 again. It has none of the planted words.
func (l *Lines) Fork(seed uint64) *Lines {
	f := &Lines{logSystems: l.logSystems, now: logStart, rng: *rand.NewPCG(seed, 0x10911e5)}
	f.hosts = make([]logHost, len(l.systems)*logHosts)
	for i := range f.hosts {
		h := &f.hosts[i]
		h.name = hostName(i % logHosts)
		h.boot = logStart - int64(f.rng.Uint64()%(90*24*uint64(time.Hour)))
		h.renew(&f.rng)
		for j := range h.sessions {
			h.sessions[j] = f.rng.Uint64()
		}
		if n := len(l.systems[i/logHosts].lines); n > 0 {
			h.next = int(f.rng.Uint64() % uint64(n))
		}
	}
	return f
}

// Next stores the next line in e.
func (l *Lines) Next(e *Line) {
	r := l.rng.Uint64()
	system, host := int(l.system[byte(r)]), int(l.host[byte(r>>8)])
	level := -1
	if l.many.streams > 0 {
		e.Stream = l.many.at(l.count)
		system, level = l.many.kind(e.Stream)
	}
	s := &l.systems[system]
	h := &l.hosts[system*logHosts+host]
	if level >= 0 {
		h.name = l.many.hosts[e.Stream/len(l.many.kinds)]
	}

	// The product of two random numbers: many short gaps and some long ones.
	gap := l.rng.Uint64()
	l.now += int64((gap & 0xffffffff) * (gap >> 32) >> 45)
	at := l.now
	if s.millis {
		at -= at % int64(time.Millisecond)
	}
	l.clock.set(at)

	var text logTemplate
	var session uint64
	if s.lines == nil {
		if level < 0 {
			level = int(s.level[byte(r>>16)])
		}
		texts := s.byLevel[level]
		text = texts[skewed(r>>32, len(texts))]
		session = h.session(&l.rng)
	} else {
		if h.next == len(s.lines) {
			h.next = 0
			h.renew(&l.rng)
		}
		level, text = int(s.levelOf[h.next]), s.lines[h.next]
		h.next++
	}
	l.line = l.append(l.line[:0], text, h, session)
	if len(l.plants) > 0 && l.plants[0].line == l.count {
		l.plant()
	}
	l.count++

	if l.many.streams == 0 {
		e.Stream = s.first + host*len(s.levels) + level
	}
	e.App, e.Host, e.Level = s.name, h.name, s.levels[level]
	e.Time, e.Line = at, l.line
}

// A logPlant is a word that will be put into a line.
type logPlant struct {
	line int64
	word string
}

// plantWord puts a word of its own into the line-th line, counted from 0, which
// must not have been made yet.
func (l *Lines) plantWord(word string, line int64) error {
	if line < l.count {
		return fmt.Errorf("line %d has been made already", line)
	}
	at, _ := slices.BinarySearchFunc(l.plants, line+1, func(p logPlant, line int64) int { return cmp.Compare(p.line, line) })
	l.plants = slices.Insert(l.plants, at, logPlant{line, word})
	return nil
}

// plant puts the words that are due before the last word of the line: a space in a line
// of JSON is within a string.
func (l *Lines) plant() {
	for len(l.plants) > 0 && l.plants[0].line == l.count {
		word := l.plants[0].word
		l.plants = l.plants[1:]
		if at := bytes.LastIndexByte(l.line, ' '); at >= 0 {
			l.line = slices.Insert(l.line, at+1, []byte(word+" ")...)
		} else {
			l.line = append(append(l.line, ' '), word...)
		}
	}
}

// A logChoice maps a random byte to a choice.
type logChoice [256]uint8

// newLogChoice gives each index a share by its weight, and at least one.
func newLogChoice(weights []float64) (c logChoice) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	at, passed := 0, 0.0
	for i, w := range weights {
		passed += w
		end := min(int(passed/sum*256+0.5), 256-(len(weights)-1-i))
		for end = max(end, at+1); at < end; at++ {
			c[at] = uint8(i)
		}
	}
	return c
}

// skewed returns an index below n, from the upper half of a random number. Lower ones
// are likelier: half of all are in the first quarter.
func skewed(r uint64, n int) int {
	u := r >> 16 & 0xffff
	return int(u * u * uint64(n) >> 32)
}

// A logBuilder collects systems.
type logBuilder struct {
	systems []logSystem
	weights []float64
	bytes   []byte
}

// hostName returns the name of a host of the 400 streams.
func hostName(i int) string { return fmt.Sprintf("host-%02d", i+1) }

// finish numbers the streams.
func (b *logBuilder) finish() *logSystems {
	s := &logSystems{systems: b.systems, bytes: b.bytes, system: newLogChoice(b.weights)}
	hosts := make([]float64, logHosts)
	for i := range hosts {
		hosts[i] = 1 / float64(i+3)
	}
	s.host = newLogChoice(hosts)
	for i := range s.systems {
		sys := &s.systems[i]
		sys.first = len(s.streams)
		for h := range logHosts {
			for _, level := range sys.levels {
				s.streams = append(s.streams, logStream{sys.name, hostName(h), level})
			}
		}
	}
	return s
}
