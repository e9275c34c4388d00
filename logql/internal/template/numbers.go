package template

import (
	"errors"
	"math"
	"math/big"
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

	"addf": func(v ...any) (float64, error) { return decimals(0, v, (*big.Rat).Add) },
	"subf": func(a any, v ...any) (float64, error) { return decimals(toFloat(a), v, (*big.Rat).Sub) },
	"mulf": func(a any, v ...any) (float64, error) { return decimals(toFloat(a), v, (*big.Rat).Mul) },
	"divf": func(a any, v ...any) (float64, error) { return decimals(toFloat(a), v, quotient) },
	"maxf": func(a any, v ...any) float64 { return fold(toFloat(a), v, math.Max) },
	"minf": func(a any, v ...any) float64 { return fold(toFloat(a), v, math.Min) },
	"ceil": func(v any) float64 { return math.Ceil(toFloat(v)) }, "floor": func(v any) float64 { return math.Floor(toFloat(v)) },
	"round": round,
}

var (
	errZero     = errors.New("decimal division by 0") // in the words of Loki
	errInfinite = errors.New("a number that is infinite or none")
)

// quotient returns nil for a division by 0.
func quotient(z, x, y *big.Rat) *big.Rat {
	if y.Sign() == 0 {
		return nil
	}
	return z.Quo(x, y)
}

// decimals computes with numbers as they are written: 0.1 + 0.2 is 0.3.
func decimals(a float64, v []any, f func(z, x, y *big.Rat) *big.Rat) (float64, error) {
	var x, y big.Rat
	for _, b := range v {
		b := toFloat(b)
		if _, ok := x.SetString(strconv.FormatFloat(a, 'g', -1, 64)); !ok {
			return 0, errInfinite
		}
		if _, ok := y.SetString(strconv.FormatFloat(b, 'g', -1, 64)); !ok {
			return 0, errInfinite
		}
		z := f(&x, &x, &y)
		if z == nil {
			return 0, errZero
		}
		a, _ = z.Float64()
	}
	return a, nil
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
		n, err := strconv.ParseInt(withoutFraction(strings.TrimSpace(v)), 0, 64)
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

// withoutFraction cuts off the digits behind a point.
func withoutFraction(s string) string {
	if whole, fraction, ok := strings.Cut(s, "."); ok && strings.Trim(fraction, "0123456789") == "" {
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
