package server

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/snappy"

	"github.com/stele-go/stele/internal/measure/procstat"
)

// BenchmarkDiscoveries pushes 1,000 lines of about 140 bytes at a time, with what the
// discoveries of docs/loki-api.md add. The space is that of segments.
func BenchmarkDiscoveries(b *testing.B) {
	const n = 1000
	var bodies [64][]byte
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range bodies {
		lines := make([]string, n)
		for j := range lines {
			level := []string{"info", "info", "info", "warn", "error"}[rng.IntN(5)]
			lines[j] = fmt.Sprintf(`level=%s ts=2027-01-15T08:00:00.%06dZ caller=http.go:%d msg="request served" method=GET path=/api/v1/orders/%d status=200 took=%dms`,
				level, i*n+j, rng.IntN(300), rng.IntN(1e9), rng.IntN(500))
		}
		bodies[i] = snappy.Encode(nil, protoPush(`{app="web", env="prod"}`, dataStart+int64(i*n), lines...))
	}
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"none", Options{}},
		{"service_name", Options{DiscoverServiceName: ServiceNameLabels()}},
		{"levels", Options{DiscoverLogLevels: true}},
		{"both", Options{DiscoverServiceName: ServiceNameLabels(), DiscoverLogLevels: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newServer(b, c.o)
			pushes := uint64(0)
			before, known := procstat.SelfUsage()
			for b.Loop() {
				pushes++
				r := httptest.NewRequest("POST", "http://127.0.0.1/loki/api/v1/push", bytes.NewReader(bodies[pushes%uint64(len(bodies))]))
				r.Header.Set("Content-Type", "application/x-protobuf")
				key := binary.BigEndian.AppendUint64(make([]byte, 8), pushes) // the body alone is known the second time
				r.Header.Set(keyHeader, hex.EncodeToString(key))
				w := httptest.NewRecorder()
				if s.ServeHTTP(w, r); w.Code != http.StatusNoContent {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			after, _ := procstat.SelfUsage()
			if known == nil {
				b.ReportMetric(float64(after.User+after.System-before.User-before.System)/float64(pushes*n), "cpu-ns/line")
			}
			if err := s.store.Seal(b.Context()); err != nil {
				b.Fatal(err)
			}
			st := s.store.Stats()
			b.ReportMetric(float64(st.SegmentBytes)/float64(st.SealedEntries), "B/line")
		})
	}
}
