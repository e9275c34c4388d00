package logql

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// Counts of lines come from Aggregate, which knows how many lines each block has of each
// stream: without a filter no line is read.

// maxBuckets bounds how much finer than its steps a count may be asked for: with very many
// buckets in a window, reading the lines is faster.
const maxBuckets = 50_000

// counts reports whether the leaf counts lines that the store selects, by labels that
// streams have.
func (l *leaf) counts() bool {
	switch l.expr.Op {
	case syntax.CountOverTime, syntax.Rate, syntax.AbsentOverTime:
	default:
		return false
	}
	if l.expr.Unwrap != nil || len(l.split.Rest) > 0 || l.grouping == nil || l.grouping.Without {
		return false
	}
	step, _ := l.function.Buckets()
	return (l.query.To-l.query.From)/int64(step) < maxBuckets
}

// countGroups counts the streams that have all labels of the grouping, and reads the lines
// of the others: the missing ones may be in metadata.
func (l *leaf) countGroups() (map[string]*group, error) {
	q, done := l.x.ask(l.query, l.node)
	step, offset := l.function.Buckets()
	counted, err := l.x.source.Aggregate(l.x.ctx, q, logstore.Aggregation{By: by(l.grouping), Step: step, Offset: offset, NoBytes: true})
	done()
	var full *logstore.LimitError
	if errors.As(err, &full) && full.Limit != "Query.MaxBytes" {
		return l.foldGroups(l.query) // whose sums are those of the steps
	}
	if err != nil {
		if err = l.x.tolerate(err); err != nil {
			return nil, err
		}
	}
	l.node.note("block metadata: counts by what the store knows of its blocks")
	groups := map[string]*group{}
	missing := false
	for i := range counted {
		if counted[i].Labels.Len() < len(by(l.grouping)) {
			missing = true
			continue
		}
		if err := l.addCounted(groups, &counted[i]); err != nil {
			return nil, err
		}
	}
	if missing {
		err = l.addMissing(groups)
	}
	return groups, err
}

// by returns the labels of a grouping, each once.
func by(g *syntax.Grouping) []string {
	labels := slices.Clone(g.Labels)
	slices.Sort(labels)
	return slices.Compact(labels)
}

// addCounted adds the group of streams to groups.
func (l *leaf) addCounted(groups map[string]*group, c *logstore.Group) error {
	g := &group{}
	for name, value := range c.Labels.All() {
		g.labels = append(g.labels, matrix.Label{Name: name, Value: value})
	}
	if err := l.x.charge(groupBytes + l.function.AccumulatorBytes() + labelsBytes(g.labels)); err != nil {
		return err
	}
	g.accumulator = l.function.NewAccumulator()
	for _, b := range c.Buckets {
		// A bucket that begins before the range has no entries before it.
		if err := g.accumulator.AddMany(max(b.Start, l.query.From), b.Entries, 0, l.x.charge); err != nil {
			return err
		}
	}
	groups["counted "+labelsKey(g.labels)] = g
	return l.checkSeries(len(groups))
}

// addMissing reads the lines of streams that lack a label of the grouping: for each label,
// those that have all labels before it.
func (l *leaf) addMissing(groups map[string]*group) error {
	labels := by(l.grouping)
	for i, name := range labels {
		q := l.query
		q.Selector = slices.Clone(q.Selector)
		for _, before := range labels[:i] {
			q.Selector = append(q.Selector, logstore.Matcher{Name: before, Op: logstore.NotEqual})
		}
		q.Selector = append(q.Selector, logstore.Matcher{Name: name, Op: logstore.Equal})
		l.node.note("streams without the label %s", name)
		more, err := l.foldGroups(q)
		if err != nil {
			return err
		}
		for _, g := range more {
			key := "counted " + labelsKey(g.labels)
			if known := groups[key]; known == nil {
				groups[key] = g
			} else if err := known.accumulator.Merge(g.accumulator, l.x.charge); err != nil {
				return err
			}
		}
	}
	return l.checkSeries(len(groups))
}

func labelsKey(labels []matrix.Label) string {
	var key []byte
	for _, l := range labels {
		key = appendText(appendText(key, l.Name), l.Value)
	}
	return string(key)
}

// appendLabel writes a label as queries do, behind others.
func appendLabel(b *strings.Builder, name, value string) {
	if b.Len() > 0 {
		b.WriteString(", ")
	}
	b.WriteString(name)
	b.WriteByte('=')
	b.WriteString(strconv.Quote(value))
}
