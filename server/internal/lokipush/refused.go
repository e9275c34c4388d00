package lokipush

import (
	"math"
	"strings"
)

// RefusedTime is the time of entries that stand in a batch for those that were refused. A
// store refuses them too, so nothing of them is kept.
const RefusedTime = math.MinInt64

// A Refusal is a stream or an entry that was refused before the store has seen it.
type Refusal struct {
	Labels  string // of the stream, as text
	Time    int64  // of the entry; of a stream, that of its first one; Unix time in nanoseconds
	Entries int    // of the stream; 1 for an entry
	Err     error
}

// Refused is what was refused of a push.
type Refused struct {
	List    []Refusal // the first 64
	Streams int       // how many streams were refused,
	Within  int       // with so many entries
	Single  int       // entries that were refused of streams that were not
}

// Entries returns how many entries were refused.
func (r *Refused) Entries() int { return r.Within + r.Single }

// maxRefusals bounds the list of refusals.
const maxRefusals = 64

func (r *Refused) reset() {
	clear(r.List)
	*r = Refused{List: r.List[:0]}
}

func (r *Refused) stream(entries int, first int64, labels string, err error) {
	r.Streams++
	r.Within += entries
	r.add(entries, first, labels, err)
}

func (r *Refused) entry(time int64, labels string, err error) {
	r.Single++
	r.add(1, time, labels, err)
}

func (r *Refused) add(entries int, time int64, labels string, err error) {
	if len(r.List) == maxRefusals {
		return
	}
	if len(labels) > 1024 {
		labels = labels[:1024] + "..."
	}
	r.List = append(r.List, Refusal{strings.ToValidUTF8(strings.Clone(labels), "\uFFFD"), time, entries, err})
}
