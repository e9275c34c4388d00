package reference

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/stele-go/stele/logql/syntax"
)

// found notes a label that a parser found, unless an earlier one has it.
func (s *state) found(name, value string) {
	name = s.parsedName(name)
	_, set := s.labels[name]
	if name == "" || s.extracted[name] || set && !s.taken(name) {
		return
	}
	s.extracted[name] = true
	s.labels[name] = value
}

// parsedName returns what a parser calls a field.
func (s *state) parsedName(name string) string {
	if s.taken(name) {
		return name + "_extracted"
	}
	return name
}

// wanted sets a label that an extraction names, also if it is there. A field that is missing
// makes it empty, unless the stream or metadata have a label of its name, or of JSON any label.
func (s *state) wanted(name, value string, ok, json bool) {
	if !ok {
		_, set := s.labels[name]
		if s.taken(name) || json && set {
			if !set && json {
				s.labels[name] = ""
			}
			return
		}
		s.set(name, "")
		s.extracted[name] = true
		return
	}
	name = s.parsedName(name)
	s.extracted[name] = true
	s.labels[name] = value
}

// sanitize makes the name of a label of the name of a field.
func sanitize(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i == 0 && '0' <= r && r <= '9' {
			b.WriteByte('_')
		}
		if r > unicode.MaxASCII || r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = '_'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (s *state) json(n *syntax.JSON) {
	if n.Extractions != nil {
		s.jsonFields(n.Extractions)
		return
	}
	d := json.NewDecoder(strings.NewReader(s.text))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') || s.object(d, "") != nil {
		s.fail("JSONParserErr")
	}
}

// object makes labels of the members of an object, of which the brace is read.
func (s *state) object(d *json.Decoder, prefix string) error {
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name := prefix + sanitize(key.(string))
		value, err := d.Token()
		if err != nil {
			return err
		}
		switch v := value.(type) {
		case json.Delim:
			if v == '{' {
				err = s.object(d, name+"_")
			} else {
				err = skipArray(d)
			}
			if err != nil {
				return err
			}
		case string:
			s.found(name, v)
		case json.Number:
			s.found(name, v.String())
		case bool:
			s.found(name, strconv.FormatBool(v))
		}
	}
	_, err := d.Token()
	return err
}

func skipArray(d *json.Decoder) error {
	for depth := 1; depth > 0; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return nil
}

func (s *state) jsonFields(list []syntax.Extraction) {
	if s.text == "" {
		return
	}
	if !strings.HasPrefix(s.text, "{") { // a blank before it is an error, as in Loki
		s.fail("JSONParserErr")
		return
	}
	for _, e := range list {
		part := follow(json.RawMessage(s.text), e.Path)
		s.wanted(e.Label, jsonText(part), part != nil, true)
	}
}

// members returns those of an object, up to what is no JSON.
func members(doc json.RawMessage) map[string]json.RawMessage {
	d := json.NewDecoder(strings.NewReader(string(doc)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	found := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		if _, twice := found[key.(string)]; !twice {
			found[key.(string)] = value
		}
	}
	return found
}

var pathStep = regexp.MustCompile(`^\.?(\w+)|^\[(\d+)\]|^\["([^"]*)"\]`)

// follow returns the part of a document at a path, nil if there is none.
func follow(doc json.RawMessage, path string) json.RawMessage {
	for path != "" {
		m := pathStep.FindStringSubmatch(path)
		if m == nil {
			return nil
		}
		path = path[len(m[0]):]
		if m[2] != "" {
			var list []json.RawMessage
			i, _ := strconv.Atoi(m[2])
			if json.Unmarshal(doc, &list) != nil || i >= len(list) {
				return nil
			}
			doc = list[i]
			continue
		}
		doc = members(doc)[m[1]+m[3]]
	}
	return doc
}

// jsonText returns a text without its quotes, null as nothing, and what else there is as it is
// written.
func jsonText(raw json.RawMessage) string {
	var text string
	if string(raw) == "null" || json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// pairs calls f with the keys and values of a logfmt line. It reports whether the line was
// well formed; if strict it ends where it is not.
func pairs(line string, strict bool, f func(key, value string)) bool {
	whole := true
	line = strings.Map(func(r rune) rune { return max(r, ' ') }, line) // what separates, too
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		if !whole && strict {
			return false
		}
		end := strings.IndexAny(line, "= ")
		if end < 0 {
			end = len(line)
		}
		key := line[:end]
		if key == "" || strings.Contains(key, `"`) {
			whole = false
			_, line, _ = strings.Cut(line, " ")
			continue
		}
		if end == len(line) || line[end] == ' ' {
			f(key, "")
			line = line[end:]
			continue
		}
		line = line[end+1:]
		if quoted, err := strconv.QuotedPrefix(line); err == nil && strings.HasPrefix(line, `"`) {
			value, _ := strconv.Unquote(quoted)
			f(key, value)
			line = line[len(quoted):]
			continue
		}
		value, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(value, `"`): // without an end
			return false
		case strings.ContainsAny(value, `"=`):
			whole = false
		default:
			f(key, value)
		}
		line = rest
	}
	return whole
}

func (s *state) logfmt(n *syntax.Logfmt) {
	if n.Extractions == nil {
		ok := pairs(s.text, n.Strict, func(key, value string) {
			if value != "" || n.KeepEmpty {
				s.found(sanitize(key), value)
			}
		})
		if n.Strict && !ok {
			s.fail("LogfmtParserErr")
		}
		return
	}
	for _, e := range n.Extractions {
		found, ok := "", false
		whole := pairs(s.text, n.Strict, func(key, value string) {
			if key == e.Path {
				found, ok = value, true
			}
		})
		if n.Strict && !whole {
			s.fail("LogfmtParserErr")
		}
		s.wanted(e.Label, found, ok, false)
	}
}

// pattern looks for each literal behind the one before; what is between is a label.
func (s *state) pattern(text string) {
	rest := s.text
	if rest == "" {
		return
	}
	for text != "" {
		open := strings.Index(text, "<")
		if open != 0 {
			literal := text
			if open > 0 {
				literal = text[:open]
			}
			after, ok := strings.CutPrefix(rest, literal)
			if !ok {
				return
			}
			rest, text = after, text[len(literal):]
			continue
		}
		name, behind, _ := strings.Cut(text[1:], ">")
		literal, _, _ := strings.Cut(behind, "<")
		value, more, ok := strings.Cut(rest, literal)
		if literal == "" || !ok {
			value = rest
		} else {
			more = literal + more
		}
		if name != "_" {
			s.found(name, value)
		}
		if !ok {
			return
		}
		rest, text = more, behind
	}
}

func (s *state) regexp(text string) {
	re := regexp.MustCompile(text)
	for i, value := range re.FindStringSubmatch(s.text) {
		if name := re.SubexpNames()[i]; name != "" {
			s.found(name, value)
		}
	}
}

func (s *state) unpack() {
	if s.text == "" {
		return
	}
	var doc map[string]any
	// What is behind the object does not matter.
	if !strings.HasPrefix(s.text, "{") || json.NewDecoder(strings.NewReader(s.text)).Decode(&doc) != nil {
		s.fail("JSONParserErr")
		return
	}
	entry, ok := doc["_entry"].(string)
	if !ok {
		return
	}
	for key, v := range doc {
		if value, ok := v.(string); ok && key != "_entry" && key != "" {
			s.found(sanitize(key), value)
		}
	}
	s.text = entry
}
