package matrix

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stele-go/stele/logql/syntax"
)

// labelReplace sets the label To of the series whose label From matches the whole
// regular expression. An empty replacement removes the label.
func (e *evaluator) labelReplace(x *syntax.LabelReplace, inner Result) (Result, error) {
	re, err := regexp.Compile("^(?:" + x.Regexp + ")$")
	if err != nil {
		return Result{}, fmt.Errorf("logql: invalid regex in label_replace(): %s", x.Regexp)
	}
	out := Result{Series: make([]Series, 0, len(inner.Series)), Sorted: inner.Sorted}
	for _, s := range inner.Series {
		from := label(s.Labels, x.From)
		if err := e.work(len(from)); err != nil {
			return Result{}, err
		}
		// What a label may become at most: each $ the whole of it.
		if err := e.room(int64(len(x.Replacement)) + int64(strings.Count(x.Replacement, "$"))*int64(len(from))); err != nil {
			return Result{}, err
		}
		if m := re.FindStringSubmatchIndex(from); m != nil {
			to := re.ExpandString(nil, x.Replacement, from, m)
			if err := e.take(&out, int64(len(to))); err != nil {
				return Result{}, err
			}
			s.Labels = withLabel(s.Labels, x.To, string(to))
		}
		out.Series = append(out.Series, s)
	}
	return out, nil
}
