package logql

import (
	"context"
	"regexp"
	"slices"
	"strconv"
)

// A DetectedLabel is a label of streams.
type DetectedLabel struct {
	Name        string
	Cardinality int64 // how many values it has, at most maxDetected
}

// maxDetected bounds the values of a label that are counted, and looked at.
const maxDetected = 10_000

// DetectedLabels returns the labels of the selected streams with their cardinality,
// without those of which all values are numbers or UUIDs, unless they name a place: such are
// no labels to choose by.
func (e *Engine) DetectedLabels(ctx context.Context, s Selection) ([]DetectedLabel, error) {
	x := e.look(ctx, s.Tenant)
	defer x.end()
	names, err := x.labels(s)
	if err != nil {
		return nil, err
	}
	s.Limit = maxDetected
	var out []DetectedLabel
	for _, name := range names {
		values, err := x.labelValues(name, s)
		if err != nil {
			return nil, err
		}
		if len(values) > 0 && (slices.Contains(places, name) || !allIDs(values)) {
			out = append(out, DetectedLabel{name, int64(len(values))})
		}
	}
	return out, nil
}

// places are labels to choose by whatever their values are.
var places = []string{"cluster", "namespace", "instance", "pod"}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$`)

func allIDs(values []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool {
		_, err := strconv.ParseFloat(v, 64)
		return err != nil && !uuid.MatchString(v)
	})
}
