package segment2

import "math"

// A Drop says which rows are gone, though a segment may still have them.
type Drop struct {
	// They are those of the tenant's streams that meet all conditions, with times in
	// [From, To), whose records have positions below Before.
	Tenant     string
	Conditions []Condition
	From, To   int64
	Before     uint64
	// Line, unless nil, reports whether a line is dropped.
	Line func(line []byte) bool
	// Position, unless 0, is that of the delete in the log: a segment with a higher
	// Info.Applied has none of these rows any more.
	Position uint64
}

// AnyPosition is a Drop.Before that is above all positions.
const AnyPosition = math.MaxUint64

// Meets reports whether a segment may have such rows, by what its footer says.
func (d *Drop) Meets(info *Info) bool {
	return d.Before > info.After+1 && (d.Position == 0 || info.Applied <= d.Position) &&
		info.Rows > 0 && d.From <= info.MaxTime && info.MinTime < d.To
}

// Covers reports whether all rows of a stream that meets the conditions are gone,
// if the segment has their times from min to max.
func (d *Drop) Covers(info *Info, min, max int64) bool {
	return d.Line == nil && d.Before > info.Upto && d.From <= min && max < d.To
}
