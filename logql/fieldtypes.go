package logql

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// typeOf returns the type of a value, as DetectedField.Type has it.
func typeOf(value string) string {
	if _, err := strconv.ParseInt(value, 10, 64); err == nil {
		return "int"
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return "float"
	}
	if value == "true" || value == "false" {
		return "boolean"
	}
	if _, err := time.ParseDuration(value); err == nil {
		return "duration"
	}
	if isBytes(value) {
		return "bytes"
	}
	return "string"
}

// isBytes reports whether a value is a number with a unit of bytes.
func isBytes(value string) bool {
	unit := strings.TrimLeft(value, "0123456789.")
	if unit == value {
		return false
	}
	if _, err := strconv.ParseFloat(value[:len(value)-len(unit)], 64); err != nil {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(unit)) {
	case "b", "kb", "kib", "mb", "mib", "gb", "gib", "tb", "tib", "pb", "pib", "eb", "eib":
		return true
	}
	return false
}

// eachJSON calls f with each value in the object that a line is, but those in arrays, by
// the label that | json makes of it. It reports whether the line is an object.
func eachJSON(line string, f func(label, value string, path []string)) bool {
	text := strings.TrimSpace(line)
	if !strings.HasPrefix(text, "{") {
		return false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if d.Decode(&object) != nil {
		return false
	}
	if _, err := d.Token(); err != io.EOF {
		return false
	}
	walkJSON(object, nil, "", f)
	return true
}

// maxDepth bounds the objects within each other of a line, as | json does.
const maxDepth = 64

func walkJSON(object map[string]any, path []string, prefix string, f func(label, value string, path []string)) {
	for name, value := range object {
		here := append(slices.Clip(path), name)
		label := prefix + labelName(name, prefix == "")
		switch v := value.(type) {
		case map[string]any:
			if len(here) < maxDepth {
				walkJSON(v, here, label+"_", f)
			}
		case string:
			f(label, v, here)
		case json.Number:
			f(label, v.String(), here)
		case bool:
			f(label, strconv.FormatBool(v), here)
		}
	}
}

// labelName makes the name of a label of that of a field: other characters than letters,
// digits and _ become _, and a digit is never the first.
func labelName(name string, first bool) string {
	b := []byte(strings.TrimSpace(name))
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_') {
			b[i] = '_'
		}
	}
	if first && len(b) > 0 && b[0] >= '0' && b[0] <= '9' {
		return "_" + string(b)
	}
	return string(b)
}
