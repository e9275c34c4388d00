package fileio_test

import (
	"regexp"

	"github.com/stele-go/stele/internal/tracetest"
)

var traceRules = []tracetest.Rule{
	{Find: regexp.MustCompile(`\{st_mode.*\}|0x[0-9a-f]{6,}`), By: "{...}"},
	{Find: regexp.MustCompile(`"(?:[^"\\]|\\.)*"\.\.\.`), By: "DATA"},
}
