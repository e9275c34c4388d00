package claims

import (
	"os"
	"strings"
	"testing"
)

func fileOf(c *Claim) string { return strings.ToLower(c.ID) + ".go" }

// The claims of a report share a letter. Each is declared in the file of its ID, and has a
// complete Source.
func TestEachClaimHasAFileAndASource(t *testing.T) {
	letters := map[string]string{}
	for _, c := range allClaims() {
		text, err := os.ReadFile(fileOf(&c))
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
		} else if !strings.Contains(string(text), "\nfunc claim"+c.ID+"(") {
			t.Errorf("%s does not declare claim %s", fileOf(&c), c.ID)
		}
		s := c.Source
		if s.Report == "" || (s.Section == "") != (s.Report == Several) || s.Title == "" || s.Statement == "" {
			t.Errorf("%s: the source is not complete: %+v", c.ID, s)
		}
		if of, ok := letters[c.ID[:1]]; ok && of != s.Report {
			t.Errorf("%s is of report %s, others with its letter of %s", c.ID, s.Report, of)
		}
		letters[c.ID[:1]] = s.Report
	}
}
