package matrix

import (
	"math"

	"github.com/stele-go/stele/logql/syntax"
)

// isSet reports whether op is and, or, unless.
func isSet(op syntax.BinaryOp) bool { return op <= syntax.OpUnless }

// isComparison reports whether op compares.
func isComparison(op syntax.BinaryOp) bool { return op >= syntax.OpEqual }

// compares returns whether a op b is true.
func compares(op syntax.BinaryOp, a, b float64) bool {
	switch op {
	case syntax.OpEqual:
		return a == b
	case syntax.OpNotEqual:
		return a != b
	case syntax.OpGreater:
		return a > b
	case syntax.OpGreaterOrEqual:
		return a >= b
	case syntax.OpLess:
		return a < b
	default:
		return a <= b
	}
}

// arithmetic returns a op b; of a comparison, 1 or 0.
func arithmetic(op syntax.BinaryOp, a, b float64) float64 {
	switch op {
	case syntax.OpAdd:
		return a + b
	case syntax.OpSub:
		return a - b
	case syntax.OpMul:
		return a * b
	case syntax.OpDiv:
		if b == 0 {
			return math.NaN() // Loki's, where Prometheus has an infinity
		}
		return a / b
	case syntax.OpMod:
		return math.Mod(a, b)
	case syntax.OpPow:
		return math.Pow(a, b)
	}
	if compares(op, a, b) {
		return 1
	}
	return 0
}

// A column computes op for all steps of two series.
type column struct {
	op     syntax.BinaryOp
	filter bool // a comparison that keeps or drops values
}

func columnOf(x *syntax.Binary) column {
	return column{op: x.Op, filter: isComparison(x.Op) && !x.Bool}
}

// compute sets out to left op right where both have a value. A filter keeps the values of
// value, which is left, or the vector of the two if the other one is a scalar.
func (c column) compute(out *Series, left, right, value *Series) {
	for w := range out.Has {
		out.Has[w] = left.Has[w] & right.Has[w]
	}
	out.each(func(i int) {
		a, b := left.Values[i], right.Values[i]
		switch {
		case !c.filter:
			out.Values[i] = arithmetic(c.op, a, b)
		case compares(c.op, a, b):
			out.Values[i] = value.Values[i]
		default:
			out.Has[i>>6] &^= 1 << (i & 63)
		}
	})
}
