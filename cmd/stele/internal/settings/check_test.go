package settings

import (
	"regexp"
	"strings"
	"testing"
)

// wrongValues has a value that is wrong for each setting, and the beginning of what the
// error wants.
var wrongValues = map[string][2]string{
	"listen":                {"127.0.0.1", "an address such as"},
	"debug_listen":          {"127.0.0.1:99999", "an address such as"},
	"log_format":            {"xml", "text or json"},
	"codec":                 {"rows", "lines or columns"},
	"log_level":             {"all", "debug, info, warn or error"},
	"shutdown_timeout":      {"0s", "1ms or more"},
	"level":                 {"none", "power or kill"},
	"sync_every":            {"1s", "0 at level"},
	"retention":             {"-1h", "0s or more"},
	"retain_bytes":          {"-1", "a size such as"},
	"min_free":              {"much", "a size such as"},
	"memory":                {"1KiB", "0 (the default), or "},
	"max_line":              {"1GiB", "0 (the default) to "},
	"max_streams":           {"-1", "a whole number from 0"},
	"late_window":           {"0s", "1ms or more"},
	"future_window":         {"all", "a time such as"},
	"key_window":            {"1ms", "1s or more"},
	"seal_age":              {"0s", "1s or more"},
	"segment_size":          {"1", "0 (the default), or "},
	"segment_span":          {"-1h", "0s or more"},
	"workers":               {"-1", "a whole number from 0"},
	"background_rate":       {"fast", "a size such as"},
	"tenants":               {"maybe", "true or false"},
	"max_tenants":           {"1.5", "a whole number from 0"},
	"tenant_limits":         {"1", "limits of tenants such as"},
	"hosts":                 {"[\"a.example:80\"]", "names of hosts without a port"},
	"discover_service_name": {"[app-name]", "names of labels"},
	"discover_log_levels":   {"2", "true or false"},
	"max_body":              {"2GiB", "0 to 1073741824"},
	"max_decompressed":      {"2GiB", "0 to 1073741824"},
	"max_metadata_bytes":    {"65536", "0 to 64512"},
}

func TestEachSettingIsChecked(t *testing.T) {
	for _, s := range All() {
		c, ok := wrongValues[s.Name]
		switch {
		case s.Name == "data":
			continue // any text is a name
		case !ok && s.Value == "SIZE":
			c = [2]string{"lots", "a size such as"}
		case !ok && s.Value == "N":
			c = [2]string{"-1", "a whole number from 0"}
		case !ok && s.Value == "TIME":
			c = [2]string{"-1s", ""}
		case !ok:
			t.Errorf("%s: the table has no wrong value for it", s.Name)
			continue
		}
		value := strings.Trim(c[0], `[]"`)
		for _, from := range []struct {
			file           string
			environ, flags []string
			place          string
		}{
			{"log_level: info\n\n" + s.Name + ": " + c[0] + "\n", nil, nil, "stele.yaml:3: " + s.Name},
			{"", []string{s.Variable() + "=" + value}, nil, s.Variable()},
			{"", nil, []string{"--" + s.Flag() + "=" + value}, "--" + s.Flag()},
		} {
			if s.Name == "log_level" {
				from.file = strings.TrimPrefix(from.file, "log_level: info")
			}
			if s.Value == "" && from.flags != nil {
				continue // package pflag parses it
			}
			loaded, err := load(t, from.file, from.environ, from.flags)
			if err == nil {
				err = loaded.Check()
			}
			if want := from.place + `: .*; want ` + regexp.QuoteMeta(c[1]); err == nil || !regexp.MustCompile("^"+want).MatchString(err.Error()) {
				t.Errorf("%s of %s:\n got %v\nwant %s", s.Name, from.place, err, want)
			}
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	got := UnknownVariables([]string{"PATH=/", "STELE_LISTEN=a", "STELE_MEMROY=1", "STELE_ADDR=x", "STELE_TENANT=x", "STELE_CONFIG=x",
		"STELE_SERVICE_HOST=10.0.0.1", "STELE_PORT_3100_TCP=tcp://10.0.0.1:3100", "STELE_X"})
	if strings.Join(got, " ") != "STELE_MEMROY STELE_X" {
		t.Errorf("%q", got)
	}
}
