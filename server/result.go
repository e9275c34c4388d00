package server

import (
	"cmp"
	"slices"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/server/internal/lokijson"
)

// writeResult writes the answer to a query.
func writeResult(w *lokijson.Writer, r *logql.Result, categorized bool) {
	w.BeginObject()
	w.Name("status")
	w.String("success")
	if len(r.Warnings) > 0 {
		w.Name("warnings")
		w.Strings(r.Warnings)
	}
	w.Name("data")
	w.BeginObject()
	w.Name("resultType")
	w.String([...]string{logql.Streams: "streams", logql.Vector: "vector", logql.Matrix: "matrix", logql.Scalar: "scalar"}[r.Kind])
	if categorized && r.Kind == logql.Streams {
		w.Name("encodingFlags")
		w.Strings([]string{"categorize-labels"})
	}
	w.Name("result")
	switch r.Kind {
	case logql.Streams:
		writeStreams(w, r.Lines, groupLines(r.Lines, categorized), categorized)
	case logql.Scalar:
		writeScalar(w, r.Series)
	default:
		writeSeries(w, r.Series, r.Kind == logql.Vector)
	}
	w.Name("stats")
	writeStats(w, r)
	if r.Plan != nil {
		w.Name("plan")
		writePlan(w, r.Plan)
	}
	w.EndObject()
	w.EndObject()
}

func writeScalar(w *lokijson.Writer, series []logql.Series) {
	for _, s := range series[:min(1, len(series))] {
		for _, p := range s.Points[:min(1, len(s.Points))] {
			w.Sample(p.Time, p.Value)
			return
		}
	}
	w.BeginArray()
	w.EndArray()
}

// writeSeries writes the series of a matrix, or of a vector, which has one point of each.
func writeSeries(w *lokijson.Writer, series []logql.Series, vector bool) {
	w.BeginArray()
	for _, s := range series {
		if vector && len(s.Points) == 0 {
			continue
		}
		w.BeginObject()
		w.Name("metric")
		writeLabels(w, s.Labels)
		if vector {
			w.Name("value")
			w.Sample(s.Points[0].Time, s.Points[0].Value)
		} else {
			w.Name("values")
			w.BeginArray()
			for _, p := range s.Points {
				w.Sample(p.Time, p.Value)
			}
			w.EndArray()
		}
		w.EndObject()
	}
	w.EndArray()
}

func writeLabels(w *lokijson.Writer, labels []logql.LabelPair) {
	w.BeginObject()
	for _, l := range labels {
		w.Name(l.Name)
		w.String(l.Value)
	}
	w.EndObject()
}

// writeStreams writes lines by the groups that they are in. Categorized, the labels of
// metadata and parsers stand beside each line.
func writeStreams(w *lokijson.Writer, lines []logql.Line, g lineGroups, categorized bool) {
	w.BeginArray()
	for _, group := range g.groups {
		w.BeginObject()
		w.Name("stream")
		writeLabels(w, group.labels)
		w.Name("values")
		w.BeginArray()
		for i := group.first; i >= 0; i = g.next[i] {
			line := &lines[i]
			w.BeginArray()
			w.Nanos(line.Time)
			w.String(line.Text)
			if categorized {
				writeCategories(w, line)
			}
			w.EndArray()
		}
		w.EndArray()
		w.EndObject()
	}
	w.EndArray()
}

func writeCategories(w *lokijson.Writer, line *logql.Line) {
	w.BeginObject()
	if len(line.Metadata) > 0 {
		w.Name("structuredMetadata")
		writeLabels(w, line.Metadata)
	}
	if len(line.Parsed) > 0 {
		w.Name("parsed")
		writeLabels(w, line.Parsed)
	}
	w.EndObject()
}

// A lineGroup is the lines that share labels: first, and from each the next, as
// indexes; -1 ends them.
type lineGroup struct {
	labels      []logql.LabelPair
	first, last int32
}

type lineGroups struct {
	groups []lineGroup
	next   []int32
}

// groupRuns groups lines that follow each other and have the same labels, so that all lines
// keep their order.
func groupRuns(lines []logql.Line, own bool) lineGroups {
	g := lineGroups{next: make([]int32, len(lines))}
	for i := range lines {
		labels := lines[i].Stream
		if own {
			labels = ownLabels(nil, &lines[i])
		}
		g.next[i] = -1
		if n := len(g.groups); n > 0 && slices.Equal(g.groups[n-1].labels, labels) {
			g.next[i-1] = int32(i)
		} else {
			g.groups = append(g.groups, lineGroup{labels, int32(i), int32(i)})
		}
	}
	return g
}

// groupLines groups lines by their labels: all, or without those of metadata and parsers.
// Groups are ordered by labels; within them lines keep their order.
func groupLines(lines []logql.Line, own bool) lineGroups {
	g := lineGroups{next: make([]int32, len(lines))}
	index := map[string]int32{}
	var key []byte
	var labels, before []logql.LabelPair
	at := int32(-1) // the group of the line before
	for i := range lines {
		line := &lines[i]
		if at < 0 || !sameSlice(line.Stream, before) || own {
			labels = line.Stream
			if own {
				labels = ownLabels(labels[:0:0], line)
			}
			key = appendKey(key[:0], labels)
			var known bool
			if at, known = index[string(key)]; !known {
				at = int32(len(g.groups))
				index[string(key)] = at
				g.groups = append(g.groups, lineGroup{labels, -1, -1})
			}
		}
		before = line.Stream
		g.next[i] = -1
		if group := &g.groups[at]; group.first < 0 {
			group.first, group.last = int32(i), int32(i)
		} else {
			g.next[group.last] = int32(i)
			group.last = int32(i)
		}
	}
	slices.SortFunc(g.groups, func(a, b lineGroup) int { return compareLabels(a.labels, b.labels) })
	return g
}

// sameSlice reports whether two lines share their labels, as those of a stream do where no
// stage changes any.
func sameSlice(a, b []logql.LabelPair) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// ownLabels returns the labels of a line's stream itself.
func ownLabels(to []logql.LabelPair, line *logql.Line) []logql.LabelPair {
	if len(line.Metadata) == 0 && len(line.Parsed) == 0 {
		return line.Stream
	}
	has := func(list []logql.LabelPair, name string) bool {
		return slices.ContainsFunc(list, func(l logql.LabelPair) bool { return l.Name == name })
	}
	for _, l := range line.Stream {
		if !has(line.Metadata, l.Name) && !has(line.Parsed, l.Name) {
			to = append(to, l)
		}
	}
	return to
}

// appendKey appends bytes that are equal exactly for equal labels.
func appendKey(key []byte, labels []logql.LabelPair) []byte {
	for _, l := range labels {
		key = appendText(appendText(key, l.Name), l.Value)
	}
	return key
}

func appendText(key []byte, s string) []byte {
	n := len(s)
	for ; n >= 0x80; n >>= 7 {
		key = append(key, byte(n)|0x80)
	}
	return append(append(key, byte(n)), s...)
}

func compareLabels(a, b []logql.LabelPair) int {
	return slices.CompareFunc(a, b, func(a, b logql.LabelPair) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
}
