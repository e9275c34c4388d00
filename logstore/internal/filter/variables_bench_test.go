package filter

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// variableBlock is lines of a kind with variables by column: each token with a digit
// is one, and those with the same text before them in a line are a column.
type variableBlock struct {
	text    []byte
	lines   int
	columns [][]uint32 // offsets of where variables begin and end
}

func newVariableBlock(kind, size int, seed uint64) (b variableBlock) {
	columns := map[string]int{}
	for _, line := range blockOf(kind, size, seed) {
		at, before := len(b.text), []byte(nil)
		for i := 0; i < len(line); {
			end, digit := i, false
			for end < len(line) && isTokenByte(line[end]) {
				digit = digit || isDigit(line[end])
				end++
			}
			if !digit {
				end = max(end, i+1)
				before = append(before, line[i:end]...)
				i = end
				continue
			}
			before = append(before, 0)
			c, ok := columns[string(before)]
			if !ok {
				c = len(b.columns)
				columns[string(before)] = c
				b.columns = append(b.columns, nil)
			}
			b.columns[c] = append(b.columns[c], uint32(at+i), uint32(at+end))
			i = end
		}
		b.text = append(append(b.text, line...), 0xff)
		b.lines++
	}
	b.text = append(b.text, zeros[:]...)[:len(b.text)]
	return b
}

func (b *variableBlock) addTo(v *VariableBuilder) {
	v.SetLines(b.text)
	for _, c := range b.columns {
		for i := 0; i < len(c); i += 2 {
			v.AddVariable(c[i], c[i+1])
		}
	}
}

// Adding the variables of a block and building its filter; compare BenchmarkBuilder.
// The blocks read are those of 100 that a needle which none has does not rule out.
func BenchmarkVariables(b *testing.B) {
	for i, k := range kinds {
		b.Run("kind="+k.name, func(b *testing.B) {
			block := newVariableBlock(i, 1<<20, 1)
			var v VariableBuilder
			var p []byte
			b.ReportAllocs()
			for b.Loop() {
				v.Reset()
				block.addTo(&v)
				p = v.Append(p[:0])
			}
			n := float64(block.lines)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/line")
			b.ReportMetric(float64(len(p))/n, "filterB/line")
			rng := rand.New(rand.NewPCG(1, 2))
			for name, draw := range map[string]func() Needle{
				"word":   func() Needle { return Word(fmt.Appendf(nil, "q%xz", rng.Uint32())) },
				"number": func() Needle { return Word(fmt.Appendf(nil, "%d", 3_000_000_000+rng.Int64N(1e9))) },
				"digits": func() Needle { return Substring(fmt.Appendf(nil, "%d", 100_000+rng.IntN(900_000))) },
			} {
				read := 0
				for range 1000 {
					if May(p, draw().OfVariables()) {
						read++
					}
				}
				b.ReportMetric(float64(read)/10, "%"+name)
			}
		})
	}
}

// Testing the filters of 20 million lines.
func BenchmarkMayVariables(b *testing.B) {
	const filters = 3000
	var v VariableBuilder
	block := newVariableBlock(1, 1<<20, 1)
	block.addTo(&v)
	one := v.Append(nil)
	region := make([]byte, 0, filters*len(one))
	for range filters {
		region = append(region, one...)
	}
	for _, s := range []string{"stelemark042", "4711471147", "zanzibar quagga"} {
		b.Run("needle="+s, func(b *testing.B) {
			n := Word([]byte(s)).OfVariables()
			b.ReportAllocs()
			for b.Loop() {
				for i := range filters {
					May(region[i*len(one):(i+1)*len(one)], n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/filters, "ns/probe")
		})
	}
}
