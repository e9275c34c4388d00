package pipeline

import (
	"encoding/json"

	"github.com/stele-go/stele/logql/internal/jsonscan"
	"github.com/stele-go/stele/logstore"
)

const (
	digits = "0123456789"
	// bareBytes are those of words without quotes that end no word.
	bareBytes = digits + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-._"
)

// The rules of variables in JSON. A string ends with a quote, and a backslash begins an escape;
// a value without quotes is a number if its first byte is one of numbers, whatever follows.
var (
	inString   = &logstore.SlotRule{Forbidden: bytesOf(`"\`)}
	inWord     = &logstore.SlotRule{Forbidden: bytesBut(bareBytes)}
	numberRule = &logstore.SlotRule{Forbidden: bytesBut(bareBytes), Doubtful: bytesBut(digits + "-"), Check: beginsNumber, Numbers: true}
	scalarRule = &logstore.SlotRule{Forbidden: bytesBut(bareBytes), Doubtful: bytesBut(digits + "-"), Check: isScalar, Numbers: true}
)

func beginsNumber(word []byte) bool {
	return len(word) > 0 && (isDigit(word[0]) || word[0] == '-')
}

func isScalar(word []byte) bool {
	return beginsNumber(word) || string(word) == "true" || string(word) == "false"
}

// jsonRules returns the rules of slots before upTo.
func jsonRules(s *sample, upTo int, _ func([]byte) bool) ([]*logstore.SlotRule, bool) {
	if !json.Valid(s.line) {
		return nil, false // the parser is more lenient
	}
	rules := make([]*logstore.SlotRule, s.slots())
	for i := 0; i < len(s.line); {
		if s.line[i] == '"' {
			end := jsonStringEnd(s.line, i)
			first, last := s.within(i, end)
			if first < min(last, upTo) && (s.cuts(i, end) || isJSONKey(s.line[end:])) {
				return nil, false
			}
			for slot := first; slot < min(last, upTo); slot++ {
				rules[slot] = inString
			}
			i = end
			continue
		}
		if slot, end := s.within(i, i+1); slot < min(end, upTo) {
			rules[slot] = s.wordRule(slot)
			i += markLen
			continue
		}
		i++
	}
	return rules, true
}

// wordRule returns the rule of a slot outside of strings.
func (s *sample) wordRule(slot int) *logstore.SlotRule {
	from := s.starts[slot]
	to := from + markLen
	switch {
	case from > 0 && isBare(s.line[from-1]):
		return inWord
	case to < len(s.line) && isBare(s.line[to]):
		return numberRule
	}
	return scalarRule
}

func isBare(c byte) bool {
	return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '+' || c == '-' || c == '.'
}

// jsonStringEnd returns the index behind the string that begins at i.
func jsonStringEnd(line []byte, i int) int {
	for i++; i < len(line) && line[i] != '"'; i++ {
		if line[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(line))
}

// isJSONKey reports whether the string before rest is a key.
func isJSONKey(rest []byte) bool {
	for _, c := range rest {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == ':'
	}
	return false
}

// pathFields are those of | json with extractions.
type pathFields struct {
	jsonPaths
	all []jsonscan.Path // also of labels that no stage reads
	ids []int32
}

func (p *Pipeline) pathFields(s *jsonPaths) fieldParser {
	f := &pathFields{all: s.paths}
	for i, l := range s.labels {
		if p.readsParsed(l) {
			f.paths, f.labels, f.ids = append(f.paths, s.paths[i]), append(f.labels, l), append(f.ids, l.id)
		}
	}
	return f
}

func (f *pathFields) fields() []int32 { return f.ids }

func (f *pathFields) locate(t logstore.LineTemplate) (plan logstore.FieldPlan, ok bool) {
	s := newSample(t)
	if s == nil || len(s.line) == 0 || s.line[0] != '{' && s.line[0] != '[' {
		return plan, false
	}
	if plan.Rules, ok = jsonRules(s, s.slots(), nil); !ok {
		return plan, false
	}
	for _, path := range f.all {
		if _, _, err := jsonscan.Get(s.line, path); err != nil {
			return plan, false
		}
	}
	for _, path := range f.paths {
		v, found, _ := jsonscan.Get(s.line, path)
		field := logstore.Field{Absent: !found}
		if found && v.Kind != jsonscan.Null {
			value := v.Raw
			if v.Escaped {
				if value, ok = jsonscan.AppendUnescaped(nil, v.Raw); !ok {
					return plan, false
				}
			}
			if field.Pieces, ok = s.pieces(value); !ok {
				return plan, false
			}
		}
		plan.Fields = append(plan.Fields, field)
	}
	return plan, true
}

func (f *pathFields) set(r *Run, values [][]byte) {
	for i, l := range f.labels {
		if values[i] == nil {
			l.setMissing(r)
			continue
		}
		r.set.parse(l.target(r), r.clean(values[i], true))
	}
}
