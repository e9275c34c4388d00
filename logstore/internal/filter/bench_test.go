package filter

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// kinds are lines as systems write them. n varies what differs from line to
// line.
var kinds = []struct {
	name string
	line func(n *rand.Rand) string
}{
	{"plain", func(n *rand.Rand) string {
		return fmt.Sprintf("Jun %02d %02d:%02d:%02d web-%02d sshd[%d]: Failed password for invalid user %s from 10.%d.%d.%d port %d ssh2",
			1+n.IntN(28), n.IntN(24), n.IntN(60), n.IntN(60), 7, 20000+n.IntN(99), names[n.IntN(len(names))], n.IntN(4), n.IntN(9), n.IntN(250), 1024+n.IntN(60000))
	}},
	{"java", func(n *rand.Rand) string {
		return fmt.Sprintf("2026-11-21 18:01:%02d,%03d INFO [RMCommunicator Allocator] org.apache.hadoop.mapreduce.v2.app.rm.RMContainerAllocator: Assigned container container_1445144423722_0020_01_%06d to attempt_1445144423722_0020_m_%06d_0 on node %s",
			n.IntN(60), n.IntN(1000), n.IntN(1000), n.IntN(1000), names[n.IntN(len(names))])
	}},
	{"json", func(n *rand.Rand) string {
		return fmt.Sprintf(`{"time":"2026-11-21T18:01:%02d.%06dZ","level":"info","msg":"request done","method":"GET","path":"/api/v2/orders/%d","status":200,"user":%q,"trace":"%016x","ms":%d.%d}`,
			n.IntN(60), n.IntN(1000000), n.IntN(100000), names[n.IntN(len(names))], n.Uint64(), n.IntN(900), n.IntN(10))
	}},
	{"access", func(n *rand.Rand) string {
		return fmt.Sprintf(`10.11.%d.%d - - [21/Nov/2026:18:01:%02d +0000] "GET /v2/%032x/servers/detail HTTP/1.1" 200 %d "-" "Mozilla/5.0 (X11; Linux x86_64)"`,
			n.IntN(4), n.IntN(250), n.IntN(60), n.IntN(9), n.IntN(5000))
	}},
	{"chinese", func(n *rand.Rand) string {
		return fmt.Sprintf("18:01:%02d 错误: 用户 %s 登录失败，密码不正确，来自地址 10.0.%d.%d，已重试 %d 次",
			n.IntN(60), names[n.IntN(len(names))], n.IntN(9), n.IntN(250), n.IntN(5))
	}},
}

var names = []string{"webmaster", "root", "张伟", "müller", "Οδυσσεύς", "oracle", "svc-backup", "anna.karenina"}

// blockOf returns lines of a kind, about size bytes in all.
func blockOf(kind int, size int, seed uint64) (lines [][]byte) {
	n := rand.New(rand.NewPCG(seed, uint64(kind)))
	for size > 0 {
		l := []byte(kinds[kind].line(n))
		lines = append(lines, l)
		size -= len(l)
	}
	return lines
}

const blockSize = 256 << 10

// Adding the lines of a block and building its filter.
func BenchmarkBuilder(b *testing.B) {
	for i, k := range kinds {
		b.Run("kind="+k.name, func(b *testing.B) {
			lines := blockOf(i, blockSize, 1)
			var f Builder
			var p []byte
			b.ReportAllocs()
			for b.Loop() {
				for _, l := range lines {
					f.Add(l)
				}
				p = f.Append(p[:0])
				f.Reset()
			}
			n := float64(len(lines))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/line")
			b.ReportMetric(blockSize/n, "B/line")
			b.ReportMetric(float64(len(p))/n, "filterB/line")
		})
	}
}

// Building the filter alone, from collected keys.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{100, 1000, 5000, 20000} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			f := withKeys(n, 1)
			var p []byte
			b.ReportAllocs()
			for b.Loop() {
				p = f.Append(p[:0])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
			b.ReportMetric(float64(len(p))/float64(n), "B/key")
		})
	}
}

// withKeys returns a builder to which n random keys were added.
func withKeys(n int, seed uint64) *Builder {
	var b Builder
	rng := rand.New(rand.NewPCG(seed, 0))
	for range n {
		b.tokens.add(notZero(rng.Uint64()))
	}
	return &b
}

// Testing the filters of 20 million lines, which do not fit in a processor's
// cache, for a rare word.
func BenchmarkMay(b *testing.B) {
	const filters = 11_000
	one := withKeys(4000, 1).Append(nil)
	region := make([]byte, 0, filters*len(one))
	for i := range filters {
		region = append(region, one...)
		binary.LittleEndian.PutUint16(region[i*len(one)+oneHeader:], uint16(i)) // pages of its own
	}
	for _, words := range []int{1, 3} {
		b.Run(fmt.Sprintf("filters=%d/words=%d", filters, words), func(b *testing.B) {
			s := []byte("zanzibar quagga xylophone")
			n := Word(s[:[]int{0, 8, 0, len(s)}[words]])
			hits := 0
			b.ReportAllocs()
			for b.Loop() {
				for i := range filters {
					if May(region[i*len(one):(i+1)*len(one)], n) {
						hits++
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/filters, "ns/probe")
			b.ReportMetric(float64(hits)/float64(b.N), "hits")
		})
	}
}

func BenchmarkContainsFold(b *testing.B) {
	for _, s := range []string{"Quagga", "müller", "错误"} {
		b.Run("needle="+s, func(b *testing.B) {
			lines := blockOf(0, blockSize, 1)
			for b.Loop() {
				for _, l := range lines {
					ContainsFold(l, []byte(s))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(lines)), "ns/line")
		})
	}
}
