package cli

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites"
	"github.com/stele-go/stele/suites/claims"
)

// A selection has the experiments and claims of a call of bench.
type selection struct {
	quick       bool
	experiments []lab.Experiment
	claims      []claims.Claim
	suites      []suites.Suite
}

// choose selects by the arguments and --filter.
func (b *benchFlags) choose(args []string) (selection, error) {
	s := selection{suites: b.suites()}
	hasQuick := slices.ContainsFunc(s.suites, func(of suites.Suite) bool { return len(of.Quick) > 0 })
	hasClaims := slices.ContainsFunc(s.suites, func(of suites.Suite) bool { return len(of.Claims) > 0 })
	if b.quick && !hasQuick {
		return s, errors.New("--quick: there is no quick set; choose with --filter")
	}
	s.quick = b.quick || len(args) == 0 && !b.list && hasQuick
	wanted := map[string]bool{}
	for _, a := range args {
		wanted[strings.ToLower(a)] = true
	}
	take := func(name string) bool {
		ok := wanted[strings.ToLower(name)]
		delete(wanted, strings.ToLower(name))
		return ok || len(args) == 0
	}
	allClaims := wanted["claims"] || len(args) == 0 && !s.quick
	delete(wanted, "claims")
	for _, suite := range s.suites {
		if take(suite.Name) {
			if s.quick {
				s.experiments = append(s.experiments, suite.Quick...)
			} else {
				s.experiments = append(s.experiments, suite.Full...)
			}
		}
	}
	for _, suite := range s.suites {
		for _, c := range suite.Claims {
			named := wanted[strings.ToLower(c.ID)]
			delete(wanted, strings.ToLower(c.ID))
			if named || allClaims {
				s.claims = append(s.claims, c)
				s.experiments = append(s.experiments, c.Experiments...)
			}
		}
	}
	for a := range wanted {
		return s, b.unknown(a, hasClaims)
	}
	s.experiments = unique(s.experiments)
	if b.filter != "" {
		re, err := regexp.Compile(b.filter)
		if err != nil {
			return s, setting.Wrong("--filter", b.filter, "a regular expression: %v", err)
		}
		s.experiments = slices.DeleteFunc(s.experiments, func(e lab.Experiment) bool { return !re.MatchString(e.ID()) })
		if len(s.experiments) == 0 {
			return s, setting.Wrong("--filter", b.filter, "a part of the ID of an experiment; '%s --list' lists them", b.Name)
		}
	}
	if len(s.experiments) == 0 {
		return s, fmt.Errorf("no experiment to run; '%s --list' lists them", b.Name)
	}
	return s, nil
}

// unknown is the error of an argument that names neither a suite nor a claim.
func (b *benchFlags) unknown(arg string, hasClaims bool) error {
	var names, ids []string
	for _, of := range b.suites() {
		names = append(names, of.Name)
		for _, c := range of.Claims {
			ids = append(ids, c.ID)
		}
	}
	what, want := "SUITE", strings.Join(names, ", ")
	if hasClaims {
		what, want = "SUITE or CLAIM", want+", claims, or the ID of a claim such as "+ids[0]
		names = append(append(names, ids...), "claims")
	}
	if b.ownSuites {
		want += "; or io or cmd, as the first argument"
		names = append(names, "io", "cmd")
	}
	return fmt.Errorf("%w%s", setting.Wrong(what, arg, "%s", want), didYouMean(arg, names))
}

// unique removes repeated experiments: claims share some.
func unique(es []lab.Experiment) []lab.Experiment {
	seen := map[string]bool{}
	return slices.DeleteFunc(es, func(e lab.Experiment) bool {
		had := seen[e.ID()]
		seen[e.ID()] = true
		return had
	})
}

func (s selection) list(w io.Writer) {
	suite := ""
	for _, e := range s.experiments {
		if e.Suite != suite {
			if suite != "" {
				fmt.Fprintln(w)
			}
			suite = e.Suite
			fmt.Fprintln(w, s.heading(suite))
		}
		fmt.Fprintf(w, "  %-38s %s\n", e.ID(), e.Question)
		for _, v := range e.Variants {
			fmt.Fprintf(w, "      %-32s %-18s %s\n", v.Name, v.Promise, v.Doc)
		}
	}
	if len(s.claims) > 0 {
		fmt.Fprintln(w, "\nverdicts on claims")
	}
	for _, c := range s.claims {
		fmt.Fprintf(w, "  %-4s %s\n       claimed: %s\n       source:  %s\n", c.ID, c.Statement, c.Claimed, c.Source)
	}
}

func (s selection) heading(suite string) string {
	for _, of := range s.suites {
		if of.Name == suite {
			return suite + ": " + of.Question
		}
	}
	if len(s.claims) > 0 {
		return suite + ": experiments behind published claims"
	}
	return suite
}

// more is said after the quick set.
const more = "\nThis was the quick set. '%[1]s SUITE' runs all of a suite, '%[1]s\nclaims' tests published claims; '%[1]s --list' names them.\n"
