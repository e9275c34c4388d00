package settings

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/units"
)

// wrong is an error about a value, without the place where it was given.
func wrong(got any, want string, args ...any) error { return setting.Wrong("", got, want, args...) }

func text(name, value, help, def string, field func(*Settings) *string) Setting {
	return Setting{
		Name: name, Value: value, Help: help, Default: def,
		parse:  func(s *Settings, v any) error { *field(s) = fmt.Sprint(v); return nil },
		format: func(s *Settings) string { return quoted(*field(s)) },
	}
}

func choice(name, help, def string, field func(*Settings) *string, allowed ...string) Setting {
	last := len(allowed) - 1
	want := strings.Join(allowed[:last], ", ") + " or " + allowed[last]
	return Setting{
		Name: name, Value: "WORD", Help: help + ": " + want, Default: def,
		parse: func(s *Settings, v any) error {
			if *field(s) = fmt.Sprint(v); !slices.Contains(allowed, *field(s)) {
				return wrong(*field(s), "%s", want)
			}
			return nil
		},
		format: func(s *Settings) string { return *field(s) },
	}
}

func flag(name, help string, field func(*Settings) *bool) Setting {
	return Setting{
		Name: name, Help: help, Default: "false",
		parse: func(s *Settings, v any) (err error) {
			if *field(s), err = strconv.ParseBool(fmt.Sprint(v)); err != nil {
				return wrong(fmt.Sprint(v), "true or false")
			}
			return nil
		},
		format: func(s *Settings) string { return strconv.FormatBool(*field(s)) },
	}
}

func number(name, help, def string, field func(*Settings) *int) Setting {
	return Setting{
		Name: name, Value: "N", Help: help, Default: def,
		parse: func(s *Settings, v any) error {
			n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
			if err != nil || n < 0 || n > math.MaxInt32 {
				return wrong(fmt.Sprint(v), "a whole number from 0 to %d", math.MaxInt32)
			}
			*field(s) = int(n)
			return nil
		},
		format: func(s *Settings) string { return strconv.Itoa(*field(s)) },
	}
}

func size(name, help, def string, field func(*Settings) *int64) Setting {
	return Setting{
		Name: name, Value: "SIZE", Help: help, Default: def,
		parse: func(s *Settings, v any) error {
			if fmt.Sprint(v) == "0" { // units.Parse wants more
				*field(s) = 0
				return nil
			}
			n, err := units.Parse(fmt.Sprint(v))
			if err != nil {
				return wrong(fmt.Sprint(v), "a size such as 4096, 512M or 2GiB")
			}
			*field(s) = n
			return nil
		},
		format: func(s *Settings) string { return sizeText(*field(s)) },
	}
}

// rate is a size that may be "unlimited", which is -1.
func rate(name, help, def string, field func(*Settings) *int64) Setting {
	s := size(name, help+", or unlimited", def, field)
	parse, format := s.parse, s.format
	s.parse = func(s *Settings, v any) error {
		if fmt.Sprint(v) == "unlimited" {
			*field(s) = -1
			return nil
		}
		return parse(s, v)
	}
	s.format = func(s *Settings) string {
		if *field(s) < 0 {
			return "unlimited"
		}
		return format(s)
	}
	return s
}

func duration(name, help, def string, least time.Duration, field func(*Settings) *time.Duration) Setting {
	return Setting{
		Name: name, Value: "TIME", Help: help, Default: def,
		parse: func(s *Settings, v any) error {
			d, err := ParseDuration(fmt.Sprint(v))
			if err != nil {
				return wrong(fmt.Sprint(v), "a time such as 30s, 5m, 1h30m or 7d")
			}
			if d < least {
				return wrong(fmt.Sprint(v), "%v or more", least)
			}
			*field(s) = d
			return nil
		},
		format: func(s *Settings) string { return FormatDuration(*field(s)) },
	}
}

// window is a time that may be "any", which is -1.
func window(name, help, def string, field func(*Settings) *time.Duration) Setting {
	s := duration(name, help+"; or any", def, time.Millisecond, field)
	parse, format := s.parse, s.format
	s.parse = func(s *Settings, v any) error {
		if fmt.Sprint(v) == "any" {
			*field(s) = -1
			return nil
		}
		return parse(s, v)
	}
	s.format = func(s *Settings) string {
		if *field(s) < 0 {
			return "any"
		}
		return format(s)
	}
	return s
}

// list is a list of words: in YAML a list, elsewhere also joined by commas.
func list(name, help, def string, field func(*Settings) *[]string) Setting {
	return Setting{
		Name: name, Value: "WORD,...", Help: help, Default: def,
		parse: func(s *Settings, v any) error {
			*field(s) = nil
			switch v := v.(type) {
			case []any:
				for _, w := range v {
					*field(s) = append(*field(s), fmt.Sprint(w))
				}
			case string:
				for w := range strings.SplitSeq(strings.Trim(v, "[]"), ",") {
					if w = strings.TrimSpace(w); w != "" {
						*field(s) = append(*field(s), w)
					}
				}
			default:
				return wrong(fmt.Sprint(v), "a list of words")
			}
			return nil
		},
		format: func(s *Settings) string {
			words := make([]string, len(*field(s)))
			for i, w := range *field(s) {
				words[i] = quoted(w)
			}
			return "[" + strings.Join(words, ", ") + "]"
		},
	}
}

func tenantLimits(name, help string, field func(*Settings) *map[string]TenantLimits) Setting {
	return Setting{
		Name: name, Value: "YAML", Help: help, Default: "{}",
		parse: func(s *Settings, v any) (err error) {
			*field(s), err = parseTenantLimits(v)
			return err
		},
		format: func(s *Settings) string { return formatTenantLimits(*field(s)) },
	}
}

// A withinError is an error of a value within that of a setting.
type withinError struct {
	path []string
	err  error
}

func (e *withinError) Error() string { return strings.Join(e.path, ".") + e.err.Error() }
func (e *withinError) Unwrap() error { return e.err }

const wantLimits = "limits of tenants such as {NAME: {retention: 7d, max_streams: 1000}}"

func parseTenantLimits(v any) (map[string]TenantLimits, error) {
	if text, ok := v.(string); ok { // of a flag or a variable
		var parsed map[string]any
		if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
			return nil, wrong(text, wantLimits)
		}
		v = parsed
	}
	if v == nil {
		return nil, nil
	}
	tenants, ok := v.(map[string]any)
	if !ok {
		return nil, wrong(fmt.Sprint(v), wantLimits)
	}
	all := map[string]TenantLimits{}
	for _, name := range slices.Sorted(maps.Keys(tenants)) {
		limits, ok := tenants[name].(map[string]any)
		if !ok {
			return nil, &withinError{[]string{name}, wrong(fmt.Sprint(tenants[name]), "limits such as {retention: 7d, max_streams: 1000}")}
		}
		var l TenantLimits
		for _, limit := range slices.Sorted(maps.Keys(limits)) {
			if err := l.set(limit, fmt.Sprint(limits[limit])); err != nil {
				return nil, &withinError{[]string{name, limit}, err}
			}
		}
		all[name] = l
	}
	return all, nil
}

func (l *TenantLimits) set(limit, value string) (err error) {
	count := func(to *int) {
		var n int64
		if n, err = strconv.ParseInt(value, 10, 32); err != nil || n < 0 {
			err = wrong(value, "a whole number from 0 to %d", math.MaxInt32)
		}
		*to = int(n)
	}
	switch limit {
	case "retention":
		if l.Retention, err = ParseDuration(value); err != nil || l.Retention < 0 {
			err = wrong(value, "a time such as 12h or 7d")
		}
	case "max_streams":
		count(&l.MaxStreams)
	case "max_sources":
		count(&l.MaxSources)
	default:
		err = setting.Wrong("", setting.Text("no such limit"), "retention, max_streams or max_sources")
	}
	return err
}

func formatTenantLimits(all map[string]TenantLimits) string {
	var tenants []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		l, limits := all[name], []string{}
		if l.Retention > 0 {
			limits = append(limits, "retention: "+FormatDuration(l.Retention))
		}
		if l.MaxStreams > 0 {
			limits = append(limits, fmt.Sprintf("max_streams: %d", l.MaxStreams))
		}
		if l.MaxSources > 0 {
			limits = append(limits, fmt.Sprintf("max_sources: %d", l.MaxSources))
		}
		tenants = append(tenants, quoted(name)+": {"+strings.Join(limits, ", ")+"}")
	}
	return "{" + strings.Join(tenants, ", ") + "}"
}

// quoted returns text as a value of YAML.
func quoted(text string) string { return strconv.Quote(text) }

func sizeText(n int64) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.ReplaceAll(units.Size(n), " ", ""), "bytes"), "byte")
}

const day = 24 * time.Hour

// ParseDuration reads a duration as time.ParseDuration does, and also days (d), weeks (w)
// and years (y) of 365 days, such as 7d or 1w12h. They come first, and are whole numbers.
func ParseDuration(text string) (time.Duration, error) {
	rest, sum := text, time.Duration(0)
	for _, u := range []struct {
		letter string
		length time.Duration
	}{{"y", 365 * day}, {"w", 7 * day}, {"d", day}} {
		before, after, ok := strings.Cut(rest, u.letter)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(before, 10, 31)
		if err != nil || time.Duration(n) > (math.MaxInt64-sum)/u.length {
			return 0, fmt.Errorf("%q is no duration; want one such as 30s, 1h30m or 7d", text)
		}
		rest, sum = after, sum+time.Duration(n)*u.length
	}
	if rest == "" && rest != text || rest == "0" {
		return sum, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || rest != text && d < 0 || d > math.MaxInt64-sum {
		return 0, fmt.Errorf("%q is no duration; want one such as 30s, 1h30m or 7d", text)
	}
	return sum + d, nil
}

// FormatDuration returns a text that ParseDuration reads: "7d", "1h30m".
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	days, rest := d/day, d%day
	text := ""
	if days > 0 {
		text = fmt.Sprintf("%dd", days)
	}
	if rest == 0 {
		return text
	}
	clock := rest.String()
	if strings.HasSuffix(clock, "m0s") {
		clock = strings.TrimSuffix(clock, "0s")
	}
	if strings.HasSuffix(clock, "h0m") {
		clock = strings.TrimSuffix(clock, "0m")
	}
	return text + clock
}
