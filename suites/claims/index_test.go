package claims

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite README.md")

// README.md is what index returns.
func TestIndexIsUpToDate(t *testing.T) {
	got := index()
	if *update {
		if err := os.WriteFile("README.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(want), "\r\n", "\n") != got {
		t.Error("README.md does not list the claims as they are; run go test ./suites/claims -run Index -update")
	}
}

// index returns README.md: the claims of each report in the order of their numbers.
func index() string {
	var b strings.Builder
	b.WriteString(`# Claims

Published statements about file I/O that Stele puts to the test. Each file has the experiments of one
claim, its ways of doing the job, and the rule that turns results into a verdict: "holds", "does not
hold", "depends", "cannot tell" or "cannot be tested here". The promise is the durability of the compared ways. A title
in square brackets is not the report's own.

    go run ./cmd/stele bench D1 D8    # put claims to the test on your disk
    go run ./cmd/stele bench claims   # all of them

A test generates this page: ` + "`go test ./suites/claims -run Index -update`" + `.
`)
	cell := strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;")
	report := ""
	for _, c := range InOrder(allClaims()) {
		if s := c.Source; s.Report != report {
			report = s.Report
			fmt.Fprintf(&b, "\n## Report %s: %s\n\n| claim | statement | section | promise | file |\n|---|---|---|---|---|\n", s.Report, s.Title)
		}
		file := fileOf(&c)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | [%s](%s) |\n", c.ID,
			cell.Replace(c.Source.Statement), cell.Replace(c.Source.Section), cell.Replace(c.Promise), file, file)
	}
	return b.String()
}

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
		if s.Report == "" || s.Title == "" || s.Section == "" || s.Statement == "" {
			t.Errorf("%s: the source is not complete: %+v", c.ID, s)
		}
		if of, ok := letters[c.ID[:1]]; ok && of != s.Report {
			t.Errorf("%s is of report %s, others with its letter of %s", c.ID, s.Report, of)
		}
		letters[c.ID[:1]] = s.Report
	}
}
