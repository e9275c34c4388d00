package settings

import (
	"cmp"
	"errors"
	"net"
	"regexp"
	"strings"

	"github.com/stele-go/stele/internal/setting"
)

// Check returns the first error of the settings that the store or the server would
// return, with the place where the setting was given, so that a wrong one is told before
// anything is opened.
func (s *Settings) Check() error {
	return cmp.Or(
		s.checkAddress("listen", s.Listen),
		s.checkAddress("debug_listen", s.DebugListen),
		s.checkWords("hosts", s.Hosts, hostName, "names of hosts without a port, such as logs.example.org, or *"),
		s.checkWords("discover_service_name", s.DiscoverServiceName, labelName, "names of labels, such as app"),
		s.rename(s.Store().Check(), "logstore: Options."),
		s.rename(s.Server().Check(), "server: Options."),
	)
}

// Wrong returns the error of a setting that the caller has found wrong.
func (s *Settings) Wrong(name string, got any, want string) error {
	return located(wrong(got, "%s", want), name, cmp.Or(s.origins[name], "--"+strings.ReplaceAll(name, "_", "-")), s.origins)
}

func (s *Settings) checkAddress(name, address string) error {
	if address == "" && name == "debug_listen" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil && port != "" {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || port == "" {
		return s.Wrong(name, address, "an address such as 127.0.0.1:3100, [::1]:3100 or :3100")
	}
	return nil
}

var (
	hostName  = regexp.MustCompile(`^(\*|[^\s/:*]+)$`)
	labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

func (s *Settings) checkWords(name string, words []string, allowed *regexp.Regexp, want string) error {
	for _, w := range words {
		if !allowed.MatchString(w) {
			return s.Wrong(name, w, want)
		}
	}
	return nil
}

// rename gives an error of the store or of the server the name of the setting and its
// place.
func (s *Settings) rename(err error, prefix string) error {
	e, ok := errors.AsType[*setting.Error](err)
	if !ok {
		return err
	}
	name, known := fieldSettings[strings.TrimPrefix(e.Name, prefix)]
	if !known {
		return err
	}
	return located(err, name, s.origins[name], s.origins)
}

// fieldSettings are the settings of the fields of which the store and the server check
// more than parsing has.
var fieldSettings = map[string]string{
	"SyncEvery": "sync_every", "Codec": "codec", "MaxLine": "max_line", "Memory": "memory", "SegmentSize": "segment_size",
	"Push.Body": "max_body", "Push.Decompressed": "max_decompressed", "Push.MetadataBytes": "max_metadata_bytes",
}
