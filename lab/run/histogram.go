package run

import (
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and precision of every latency histogram. With two significant
// digits a percentile is within 1 % of the truth, far below what a disk
// repeats, and a histogram takes 30 KiB, so a thousand goroutines can have
// one each without disturbing the caches more than they do anyway.
const (
	histogramMin    = 1                 // ns
	histogramMax    = 3_600_000_000_000 // ns: one hour
	histogramDigits = 2
)

// A Histogram counts latencies in nanoseconds, from 1 ns to an hour, to two
// significant digits (HDR histogram). Latencies outside that range are counted
// apart, see OutOfRange.
type Histogram struct {
	h   *hdrhistogram.Histogram
	out int64
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{h: hdrhistogram.New(histogramMin, histogramMax, histogramDigits)}
}

// Record counts one latency of ns nanoseconds.
func (h *Histogram) Record(ns int64) {
	if h.h.RecordValue(ns) != nil {
		h.out++
	}
}

// Merge adds everything that o counted.
func (h *Histogram) Merge(o *Histogram) {
	if o == nil {
		return
	}
	h.out += o.out + h.h.Merge(o.h)
}

// Count is the number of latencies in range.
func (h *Histogram) Count() int64 { return h.h.TotalCount() }

// OutOfRange is the number of latencies below 1 ns or above an hour.
func (h *Histogram) OutOfRange() int64 { return h.out }

// Quantile returns the latency in nanoseconds below which the share q (0 to
// 1) of the operations lies, however few samples there are; see
// stats.CheckPercentile.
func (h *Histogram) Quantile(q float64) float64 {
	return float64(h.h.ValueAtPercentile(q * 100))
}

// Mean is the mean latency in nanoseconds.
func (h *Histogram) Mean() float64 { return h.h.Mean() }

// Max is the largest latency in range, in nanoseconds.
func (h *Histogram) Max() float64 { return float64(h.h.Max()) }

// A CumulativePoint says that a share Q of the operations took NS or less.
type CumulativePoint struct {
	NS float64
	Q  float64
}

// Cumulative returns the empirical distribution, one point for each bucket
// that holds something.
func (h *Histogram) Cumulative() []CumulativePoint {
	var points []CumulativePoint
	total := float64(h.h.TotalCount())
	var seen int64
	for _, bar := range h.h.Distribution() {
		if bar.Count == 0 {
			continue
		}
		seen += bar.Count
		points = append(points, CumulativePoint{NS: float64(bar.To), Q: float64(seen) / total})
	}
	return points
}

type histogramJSON struct {
	HDR        string `json:"hdr"` // HdrHistogram V2, compressed, base64
	OutOfRange int64  `json:"out_of_range"`
}

// MarshalJSON writes the counts in HdrHistogram's own V2 encoding, which
// other tools read.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	b, err := h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("run: encode a latency histogram: %w", err)
	}
	return json.Marshal(histogramJSON{HDR: string(b), OutOfRange: h.out})
}

// UnmarshalJSON reads a histogram that MarshalJSON wrote. Another range or precision
// is an error: its buckets would not be ours.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var j histogramJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	if err := checkGeometry(j.HDR); err != nil {
		return fmt.Errorf("run: decode a latency histogram: %w", err)
	}
	d, err := hdrhistogram.Decode([]byte(j.HDR))
	if err != nil {
		return fmt.Errorf("run: decode a latency histogram: %w", err)
	}
	if j.OutOfRange < 0 {
		return fmt.Errorf("run: a latency histogram with %d values out of range", j.OutOfRange)
	}
	h.h, h.out = d, j.OutOfRange
	return nil
}

// checkGeometry refuses the encoding of a histogram with another range or
// precision than ours before Decode makes its counts: a hundred bytes can ask for
// 64 MiB of them.
func checkGeometry(encoded string) error {
	// The layout: a cookie and a length of 4 bytes each, then compressed a cookie,
	// a length, an offset, the digits, and as 8 bytes each the least and the
	// greatest value; all big-endian.
	const outer, inner = 8, 32
	r := base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded))
	if _, err := io.CopyN(io.Discard, r, outer); err != nil {
		return fmt.Errorf("cut off in its first %d bytes: %w", outer, err)
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return err
	}
	defer z.Close()
	var head [inner]byte
	if _, err := io.ReadFull(z, head[:]); err != nil {
		return fmt.Errorf("cut off in its header: %w", err)
	}
	digits := int32(binary.BigEndian.Uint32(head[12:]))
	least, most := int64(binary.BigEndian.Uint64(head[16:])), int64(binary.BigEndian.Uint64(head[24:]))
	if least != histogramMin || most != histogramMax || digits != histogramDigits {
		return fmt.Errorf("it goes from %d to %d with %d digits: want %d to %d with %d",
			least, most, digits, histogramMin, int64(histogramMax), histogramDigits)
	}
	return nil
}
