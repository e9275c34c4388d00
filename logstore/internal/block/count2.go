package block

import "github.com/stele-go/stele/logstore/internal/template"

// Count returns how many rows of the open block pass the test of a plan for its dictionary.
// It reads the columns that tell, but no times, metadata or lines. ok is false if that takes
// lines, since some row only may pass, or for a block of version 1.
func (d *Decoder) Count(p *template.Plan) (n int, ok bool, err error) {
	if d.decoding == nil {
		return 0, false, errNotOpen
	}
	if d.decoding != &d.version2 {
		return 0, false, nil
	}
	return d.version2.count(p)
}
