package logs

import (
	"fmt"

	"github.com/stele-go/stele/logstore"
)

// A logMany numbers an exact number of streams: those of the first host, of the second
// one, and so on. Lines are dealt in passes: each has one line of each stream, in an
// order that leaves neighbours far apart.
type logMany struct {
	streams int // 0: see logSystems.streams
	stride  int // from a stream to the next one in a pass
	kinds   []logKindOf
	hosts   []string
}

// A logKindOf is a system and an index of its levels: each host has one stream of each.
type logKindOf struct {
	system, level int
	labels        logStream // without the host
}

// podsFrom is from how many streams on each has a label pod, whose value no other has.
const podsFrom = 20_000

func newLogMany(systems []logSystem, streams int) logMany {
	m := logMany{streams: streams, stride: streams*5/8 | 1}
	for gcd(m.stride, streams) != 1 {
		m.stride += 2
	}
	for i, s := range systems {
		for j, level := range s.levels {
			m.kinds = append(m.kinds, logKindOf{i, j, logStream{App: s.name, Level: level}})
		}
	}
	m.hosts = make([]string, (streams+len(m.kinds)-1)/len(m.kinds))
	for i := range m.hosts {
		m.hosts[i] = fmt.Sprintf("host-%06d", i+1)
	}
	return m
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// at returns the stream of a line.
func (m *logMany) at(line int64) int { return int(line * int64(m.stride) % int64(m.streams)) }

// kind returns the system of a stream and the index of its level.
func (m *logMany) kind(stream int) (system, level int) {
	k := &m.kinds[stream%len(m.kinds)]
	return k.system, k.level
}

// numStreams returns the number of streams.
func (l *logSystems) numStreams() int { return max(l.many.streams, len(l.streams)) }

// labels returns the labels of a stream by its number.
func (l *logSystems) labels(stream int) logstore.Labels {
	if l.many.streams == 0 {
		s := &l.streams[stream]
		return logstore.MustLabels("app", s.App, "host", s.Host, "level", s.Level)
	}
	s, host := &l.many.kinds[stream%len(l.many.kinds)].labels, l.many.hosts[stream/len(l.many.kinds)]
	if l.many.streams <= podsFrom {
		return logstore.MustLabels("app", s.App, "host", host, "level", s.Level)
	}
	return logstore.MustLabels("app", s.App, "host", host, "level", s.Level, "pod", podName(s.App, stream))
}

// podName returns a name as an orchestrator makes it, with 52 random bits.
func podName(app string, stream int) string {
	id := idOf(uint64(stream), 1)
	return fmt.Sprintf("%s-%08x-%05x", app, id>>32, id&0xfffff)
}

// Labels returns the labels of all streams, by Line.Stream.
func (l *logSystems) Labels() []logstore.Labels {
	list := make([]logstore.Labels, l.numStreams())
	for i := range list {
		list[i] = l.labels(i)
	}
	return list
}
