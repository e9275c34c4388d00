package run

import (
	"cmp"
	"slices"
)

// kneeShare is the share of the best throughput at which a surface has its
// knee: the settings beyond it cost more and gain less than 5 %.
const kneeShare = 0.95

// A Cell is the place of a variant on a surface: throughput over two settings,
// drawn as a heat map. Variants of one experiment with the same Surface belong
// together.
type Cell struct {
	Surface string `json:"surface"` // its name: "io_uring"
	XName   string `json:"x_name"`  // "in flight in each ring"
	YName   string `json:"y_name"`  // "rings"; empty where there is one setting only
	X       int    `json:"x"`
	Y       int    `json:"y"`
	// Latency is the metric, in nanoseconds, that stands beside the throughput:
	// where several operations are in flight, the time between two that end is
	// not the time that one takes. Empty is the median of single operations.
	Latency string `json:"latency,omitempty"`
}

// A Surface is the cells of one name, with the best one and the knee.
type Surface struct {
	Name  string `json:"name"`
	XName string `json:"x_name"`
	YName string `json:"y_name"`
	// Best is the variant with the highest throughput, "" where nothing was
	// measured.
	Best string `json:"best"`
	// The knee is the cheapest cell with at least 95 % of the best one's
	// throughput: the one with the smallest X times Y, and of equals the one with
	// the smallest Y. A cell's share is the ratio of paired blocks, with its 95 %
	// interval; a difference below the noise floor is ignored. KneeLo is the cheapest
	// variant whose interval does not rule out that it reaches the share, KneeHi the
	// cheapest whose interval shows it. Where the two differ the knee is between them.
	KneeLo string `json:"knee_lo"`
	KneeHi string `json:"knee_hi"`
	// Open is set where the knee is the largest cell of several: the throughput
	// still grows there, and the surface has no knee.
	Open bool `json:"open,omitempty"`
}

// surfaces derives the surfaces of a result, in the order in which the first
// cell of each comes.
func (res *Result) surfaces(r *Run) []Surface {
	cells := map[string][]*VariantResult{}
	var out []Surface
	for i := range res.Variants {
		v := &res.Variants[i]
		if v.Cell == nil {
			continue
		}
		if cells[v.Cell.Surface] == nil {
			out = append(out, Surface{Name: v.Cell.Surface, XName: v.Cell.XName, YName: v.Cell.YName})
		}
		cells[v.Cell.Surface] = append(cells[v.Cell.Surface], v)
	}
	for i := range out {
		out[i].find(r, res, cells[out[i].Name])
	}
	return out
}

func (s *Surface) find(r *Run, res *Result, cells []*VariantResult) {
	cells = slices.DeleteFunc(cells, func(v *VariantResult) bool { return v.Time.N == 0 || v.Error != "" })
	if len(cells) == 0 {
		return
	}
	slices.SortStableFunc(cells, func(a, b *VariantResult) int {
		return cmp.Or(cmp.Compare(a.Cell.X*a.Cell.Y, b.Cell.X*b.Cell.Y), cmp.Compare(a.Cell.Y, b.Cell.Y))
	})
	best := slices.MinFunc(cells, func(a, b *VariantResult) int { return cmp.Compare(a.Time.Median, b.Time.Median) })
	s.Best = best.Name
	limit := 1 / kneeShare
	if res.Noise != nil {
		limit = max(limit, 1+res.Noise.Floor)
	}
	for _, v := range cells {
		ratio := Estimate{Median: 1, Lo: 1, Hi: 1}
		if v != best {
			ratio = res.ratio(r, v.Name, res.times(v.Name, RoleTimed), best.Name, res.times(best.Name, RoleTimed))
		}
		if s.KneeLo == "" && !(ratio.Lo > limit) { // without an interval nothing is ruled out
			s.KneeLo = v.Name
		}
		if ratio.Hi <= limit {
			s.KneeHi = v.Name
			break
		}
	}
	s.Open = len(cells) > 1 && s.KneeLo == s.KneeHi && s.KneeHi == cells[len(cells)-1].Name
}
