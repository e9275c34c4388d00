package template

import (
	"math"
	"strconv"
	"strings"
)

var numberFunctions = map[string]any{
	"int": func(v any) int { return int(toInt(v)) }, "float64": toFloat,
	"add": func(v ...any) (sum int64) {
		for _, x := range v {
			sum += toInt(x)
		}
		return sum
	},
	"sub": func(a, b any) int64 { return toInt(a) - toInt(b) },
	"mul": func(a any, v ...any) int64 {
		product := toInt(a)
		for _, x := range v {
			product *= toInt(x)
		}
		return product
	},
	"div": func(a, b any) int64 { return toInt(a) / toInt(b) },
	"mod": func(a, b any) int64 { return toInt(a) % toInt(b) },
	"max": func(a any, v ...any) int64 { return best(toInt, func(x, y int64) bool { return x > y }, a, v) },
	"min": func(a any, v ...any) int64 { return best(toInt, func(x, y int64) bool { return x < y }, a, v) },

	"addf": func(v ...any) float64 {
		return fold(0, v, func(a, b float64) float64 { return a + b })
	},
	"subf": func(a any, v ...any) float64 {
		return fold(toFloat(a), v, func(a, b float64) float64 { return a - b })
	},
	"mulf": func(a any, v ...any) float64 {
		return fold(toFloat(a), v, func(a, b float64) float64 { return a * b })
	},
	"divf": func(a any, v ...any) float64 {
		return fold(toFloat(a), v, func(a, b float64) float64 { return a / b })
	},
	"maxf": func(a any, v ...any) float64 { return fold(toFloat(a), v, math.Max) },
	"minf": func(a any, v ...any) float64 { return fold(toFloat(a), v, math.Min) },
	"ceil": func(v any) float64 { return math.Ceil(toFloat(v)) }, "floor": func(v any) float64 { return math.Floor(toFloat(v)) },
	"round": round,
}

func fold(a float64, v []any, f func(a, b float64) float64) float64 {
	for _, x := range v {
		a = f(a, toFloat(x))
	}
	return a
}

func best(of func(any) int64, better func(x, y int64) bool, a any, v []any) int64 {
	found := of(a)
	for _, x := range v {
		if n := of(x); better(n, found) {
			found = n
		}
	}
	return found
}

// round rounds to places digits behind the point, half away from zero, or from another fraction
// on.
func round(v any, places int, from ...float64) float64 {
	at := 0.5
	if len(from) > 0 {
		at = from[0]
	}
	pow := math.Pow(10, float64(places))
	digit := pow * toFloat(v)
	if _, fraction := math.Modf(digit); fraction >= at {
		return math.Ceil(digit) / pow
	}
	return math.Floor(digit) / pow
}

// toInt returns a whole number; 0 if v is none.
func toInt(v any) int64 {
	switch v := v.(type) {
	case string:
		n, err := strconv.ParseInt(withoutZeros(strings.TrimSpace(v)), 0, 64)
		if err != nil {
			return 0
		}
		return n
	case int:
		return int64(v)
	case int64:
		return v
	case int32:
		return int64(v)
	case float64:
		return int64(v)
	case bool:
		if v {
			return 1
		}
	}
	return 0
}

// withoutZeros cuts off a fraction of zeros.
func withoutZeros(s string) string {
	if whole, fraction, ok := strings.Cut(s, "."); ok && strings.Trim(fraction, "0") == "" {
		return whole
	}
	return s
}

// toFloat returns a number; 0 if v is none.
func toFloat(v any) float64 {
	switch v := v.(type) {
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil {
			return 0
		}
		return n
	case float64:
		return v
	}
	return float64(toInt(v))
}
