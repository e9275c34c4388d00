package block

import (
	"math/bits"

	"github.com/stele-go/stele/logstore/internal/template"
)

// Count returns how many rows of the open block pass the test of a plan for its dictionary.
// It reads the columns that tell, but no times, metadata or lines. ok is false if that takes
// lines, since some row only may pass, or for a block of version 1.
func (d *Decoder) Count(p *template.Plan) (n int, ok bool, err error) {
	m, ok, err := d.Search(p)
	if !ok || err != nil {
		return 0, false, err
	}
	for i, w := range m.May {
		if w != m.Sure[i] {
			return 0, false, nil
		}
		n += bits.OnesCount64(w)
	}
	return n, true, nil
}
