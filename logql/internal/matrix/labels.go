package matrix

import (
	"encoding/binary"
	"slices"

	"github.com/stele-go/stele/logql/syntax"
)

// appendKey appends bytes that are equal exactly for equal selections of labels: those
// that are named or, with not, those that are not. Names are few.
func appendKey(buf []byte, labels []Label, names []string, not bool) []byte {
	for _, l := range labels {
		if slices.Contains(names, l.Name) == not || l.Value == "" {
			continue
		}
		buf = binary.AppendUvarint(buf, uint64(len(l.Name)))
		buf = append(buf, l.Name...)
		buf = binary.AppendUvarint(buf, uint64(len(l.Value)))
		buf = append(buf, l.Value...)
	}
	return buf
}

// selectLabels returns the labels that appendKey has in its bytes.
func selectLabels(labels []Label, names []string, not bool) []Label {
	var out []Label
	for _, l := range labels {
		if slices.Contains(names, l.Name) != not && l.Value != "" {
			out = append(out, l)
		}
	}
	return out
}

// grouping returns the names of a grouping, and whether the others are meant. Without a
// grouping all series are one group.
func grouping(g *syntax.Grouping) (names []string, not bool) {
	if g == nil {
		return nil, false
	}
	return g.Labels, g.Without
}

// withLabel returns labels with one set, or left out if the value is "".
func withLabel(labels []Label, name, value string) []Label {
	i, found := slices.BinarySearchFunc(labels, name, func(l Label, name string) int {
		switch {
		case l.Name < name:
			return -1
		case l.Name > name:
			return 1
		}
		return 0
	})
	out := slices.Clone(labels)
	switch {
	case found && value == "":
		return slices.Delete(out, i, i+1)
	case found:
		out[i].Value = value
		return out
	case value == "":
		return out
	}
	return slices.Insert(out, i, Label{name, value})
}
