package logstore

import "slices"

// A copiedSpan is what a reading knows of a span while it copies picks.
type copiedSpan struct {
	stream uint32 // 1 + index into results.streams, lostSpan or metSpan; 0: not met
	seq    uint32
}

const (
	lostSpan = 1<<32 - 1 // the labels cannot be read
	metSpan  = 1<<32 - 2 // they were not read yet
)

// A labelCopy is the labels of the spans of which a reading copies picks. Those of a
// block are read in the order of spans, which is that of ordinals: picks, by time, would
// ask for labels all over the segment.
type labelCopy struct {
	spans      []copiedSpan // by number of the span; all zero between two copies
	met        []int32      // spans that are not zero
	streams    []resultStream
	labelText  []byte
	labelBytes int64   // of a stream, about
	lost       []error // one for each lostSpan
}

// firstLabelBytes is what the labels of a stream are expected to take before some are
// known.
const firstLabelBytes = 64

// meet notes a span, and reports whether it was not met before.
func (c *labelCopy) meet(span int32) bool {
	for int(span) >= len(c.spans) {
		c.spans = append(c.spans, copiedSpan{})
	}
	if c.spans[span].stream != 0 {
		return false
	}
	c.spans[span].stream = metSpan
	c.met = append(c.met, span)
	return true
}

// forget forgets all spans but the first n that were met.
func (c *labelCopy) forget(n int) {
	for _, span := range c.met[n:] {
		c.spans[span] = copiedSpan{}
	}
	c.met = c.met[:n]
}

// fitLabels is fit with the labels of the spans, which it leaves in the labelCopy.
func (r *reading) fitLabels(l leaf, picks []pick, of allotment) (n int, size int64) {
	if r.labelBytes == 0 {
		r.labelBytes = firstLabelBytes
	}
	for {
		n, size = fit(r, picks, of)
		most := of.bytes
		if first := picks[0].time; picks[n-1].time == first && r.x.key(first) <= of.wanted {
			most = max(most, maxCopied)
		}
		all := r.readLabels(l, most, n == 1)
		bytes := size + int64(n)*resultRowBytes + int64(len(r.met))*resultStreamBytes + int64(len(r.labelText))
		if n == 1 || all && bytes <= most+most/4 {
			return n, size
		}
		r.forget(0) // labelBytes has changed
	}
}

// readLabels reads the labels of the spans that were met. It reports whether those are
// all: unless it must, it ends at most bytes.
func (r *reading) readLabels(l leaf, most int64, must bool) (all bool) {
	slices.Sort(r.met)
	r.streams, r.labelText, r.lost = r.streams[:0], r.labelText[:0], r.lost[:0]
	all = true
	for _, span := range r.met {
		labels, seq, err := l.stream(r, span)
		if err != nil {
			r.spans[span].stream = lostSpan
			r.lost = append(r.lost, err)
			continue
		}
		r.streams = append(r.streams, resultStream{off: uint32(len(r.labelText)), size: uint32(len(labels))})
		r.spans[span] = copiedSpan{uint32(len(r.streams)), seq}
		r.labelText = append(r.labelText, labels...)
		if int64(len(r.labelText)) > most && !must {
			all = false
			break
		}
	}
	if n := int64(len(r.streams)); n > 0 {
		r.labelBytes = max(1, int64(len(r.labelText))/n)
	}
	return all
}
