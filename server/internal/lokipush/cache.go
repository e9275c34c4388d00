package lokipush

import (
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server/internal/loglevel"
)

// A form is how the labels of a stream are written.
type form uint8

const (
	formText form = iota // {app="api"}
	formJSON             // {"app":"api"}
	forms
)

// A Set is the labels of a stream, and the level that they tell, "" if none.
type Set struct {
	Labels logstore.Labels
	Level  string
}

// A Cache remembers the labels of streams by their text, so that each is parsed once.
// Many goroutines use one.
type Cache struct {
	services []string
	levels   bool
	alone    map[string]logstore.Labels // of LevelName, by level
	most     int64                      // bytes of a generation

	mu sync.RWMutex
	// Two generations: when the young one is full it is the old one, which is forgotten. A set
	// that is found in the old one becomes young again.
	young, old [forms]map[string]Set
	bytes      int64 // of the young one
}

// LevelName is the name of the metadata that has the level which was found.
const LevelName = "detected_level"

// serviceName is the label that names a service.
const serviceName = "service_name"

// setCost is about what a set takes beside its text, in bytes.
const setCost = 120

// NewCache returns a cache of at most so many bytes. services are the labels of which the
// first that a stream has becomes its label service_name; none adds no label. With levels, the
// level of each entry becomes its metadata LevelName, see package loglevel.
func NewCache(most int64, services []string, levels bool) *Cache {
	c := &Cache{services: services, levels: levels, most: most / 2, alone: map[string]logstore.Labels{}}
	for i := range c.young {
		c.young[i] = map[string]Set{}
	}
	for _, level := range loglevel.Known() {
		c.alone[level] = logstore.MustLabels(LevelName, level)
	}
	return c
}

func (c *Cache) detects() bool { return c.levels }

// get returns the set that text describes. The reason is why the stream is refused.
func (c *Cache) get(kind form, text []byte, limits *Limits) (Set, error) {
	c.mu.RLock()
	set, ok := c.young[kind][string(text)]
	if !ok {
		if set, ok = c.old[kind][string(text)]; ok {
			c.mu.RUnlock()
			c.put(kind, string(text), set)
			return set, nil
		}
	}
	c.mu.RUnlock()
	if ok {
		return set, nil
	}
	if most := limits.labelText(); len(text) > most {
		return set, fmt.Errorf("the labels of the stream are a text of %d bytes; want at most %d", len(text), most)
	}
	set, err := c.parse(kind, text, limits)
	if err == nil {
		c.put(kind, string(text), set)
	}
	return set, err
}

// labelText returns how long the text of labels within the limits can be, in bytes: a byte takes six
// as an escape, and beside a label are quotes and the like. What is longer is not parsed.
func (l *Limits) labelText() int {
	const beside, most = 16, logstore.MaxLabelBytes // a label takes at least a byte of most
	one := min(l.LabelName, most) + min(l.LabelValue, most)
	labels := min(l.Labels, most)
	return int(6*min(int64(labels)*int64(one), most)) + labels*beside + beside
}

func (c *Cache) put(kind form, text string, set Set) {
	cost := int64(2*len(text) + setCost)
	if cost > c.most {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.young[kind][text]; ok {
		return
	}
	if c.bytes += cost; c.bytes > c.most {
		c.old, c.bytes = c.young, cost
		for i := range c.young {
			c.young[i] = map[string]Set{}
		}
	}
	c.young[kind][text] = set
}

// errNoLabels is worded as Loki does, whose clients look for it.
var errNoLabels = errors.New("error at least one label pair is required per stream")

// parse makes a set of a text.
func (c *Cache) parse(kind form, text []byte, limits *Limits) (set Set, err error) {
	var labels logstore.Labels
	if kind == formJSON {
		err = labels.UnmarshalJSON(text)
	} else {
		labels, err = logstore.ParseLabels(string(text))
	}
	if err != nil {
		return set, err
	}
	if labels.Len() == 0 && len(c.services) == 0 {
		return set, errNoLabels
	}
	if n := labels.Len(); n > limits.Labels {
		return set, fmt.Errorf("the stream has %d labels; want at most %d", n, limits.Labels)
	}
	for name, value := range labels.All() {
		if !isName(name) {
			return set, fmt.Errorf("couldn't parse labels: %.40q is no name; want letters, digits and _, with no digit in front", name)
		}
		if len(name) > limits.LabelName {
			return set, fmt.Errorf("the name of label %.40q... has %d bytes; want at most %d", name, len(name), limits.LabelName)
		}
		if len(value) > limits.LabelValue {
			return set, fmt.Errorf("the value of label %q has %d bytes; want at most %d", name, len(value), limits.LabelValue)
		}
	}
	if c.levels {
		set.Level = levelOf(labels.All(), loglevel.RankNumber)
	}
	set.Labels, err = c.withService(labels)
	return set, err
}

// isName reports whether a query can name the label.
func isName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// withService adds the label service_name, if that is wanted.
func (c *Cache) withService(labels logstore.Labels) (logstore.Labels, error) {
	if len(c.services) == 0 || labels.Get(serviceName) != "" {
		return labels, nil
	}
	service := "unknown_service"
	for _, name := range c.services {
		if v := labels.Get(name); v != "" {
			service = v
			break
		}
	}
	all := []logstore.Label{{Name: serviceName, Value: service}}
	for name, value := range labels.All() {
		all = append(all, logstore.Label{Name: name, Value: value})
	}
	return logstore.NewLabels(all...)
}

// levelOf returns the level of the name of the lowest rank, below most, that has a value; ""
// if there is none.
func levelOf(pairs iter.Seq2[string, string], most int) string {
	best, value := most, ""
	for n, v := range pairs {
		if rank := loglevel.Rank(n); rank > 0 && rank < best && v != "" {
			best, value = rank, v
		}
	}
	if value == "" {
		return ""
	}
	return loglevel.OfValue(best, value)
}

// level returns the level of an entry of a set, see package loglevel.
func level(set *Set, metadata []logstore.Label, line []byte) string {
	for i := range metadata {
		if l := &metadata[i]; l.Name == LevelName && l.Value != "" {
			return loglevel.OfValue(0, l.Value)
		}
	}
	if set.Level != "" {
		return set.Level
	}
	if len(metadata) > 0 {
		all := func(yield func(name, value string) bool) {
			for i := range metadata {
				if !yield(metadata[i].Name, metadata[i].Value) {
					return
				}
			}
		}
		if level := levelOf(all, loglevel.RankNumber+1); level != "" {
			return level
		}
	}
	if level := loglevel.OfLine(line); level != "" {
		return level
	}
	return loglevel.Unknown
}

// levelAlone returns the metadata that has a level alone.
func (c *Cache) levelAlone(level string) logstore.Labels {
	if l, ok := c.alone[level]; ok {
		return l
	}
	l, err := logstore.NewLabels(logstore.Label{Name: LevelName, Value: level})
	if err != nil {
		return logstore.Labels{}
	}
	return l
}

// Len returns how many sets are remembered.
func (c *Cache) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := 0
	for i := range c.young {
		n += len(c.young[i]) + len(c.old[i])
	}
	return n
}
