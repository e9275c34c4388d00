package report

import (
	"fmt"
	"strings"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
)

// here is what was left of a variant's promise where it was measured: the promise
// itself in a run that was not analysed.
func here(v *run.VariantResult) run.Promise {
	if v.Here == (run.Promise{}) {
		return v.Promise
	}
	return v.Here
}

// survives describes what a finished operation of v survives where it was measured: the
// lesser of what the variant promises and the place keeps, with the reason where that is
// not all. Every sentence and table that says what survives has it from here.
func survives(v *run.VariantResult) string {
	text := here(v).Survives()
	if len(v.Capped) == 0 {
		return text
	}
	var why []string
	for _, code := range v.Capped {
		why = append(why, capWords(code))
	}
	return fmt.Sprintf("%s here (%s)", text, strings.Join(why, "; "))
}

// survivesSame says, at the end of a clause, what v and another variant of its promise
// survive. It is empty where they write nothing.
func survivesSame(v *run.VariantResult) string {
	if !v.Promise.Writes() {
		return ""
	}
	if what, ok := strings.CutPrefix(survives(v), "survives "); ok {
		return " and survives the same: " + what
	}
	return " and " + survives(v) + ", like it"
}

// eachSurvives is survivesSame for any number of variants.
func eachSurvives(v *run.VariantResult) string {
	if !v.Promise.Writes() {
		return ""
	}
	return "; each " + survives(v)
}

// capWords is the reason of a cap in a few words.
func capWords(code string) string {
	switch code {
	case run.CapMemory:
		return "the files are in memory"
	case run.CapNoBarrier:
		return "a sync flushes no disk cache"
	case run.CapNoJournal:
		return "no journal: a repair after a power cut may lose synced files"
	case run.CapVolatile:
		return "the overlay drops syncs"
	case run.CapNoSync:
		return "the file system drops syncs"
	case run.CapWriteback:
		return "data=writeback: a power cut may leave a renamed file without its data"
	case run.CapServer:
		return "if the server keeps what it is sent"
	case run.CapProgram:
		return "if the program behind the mount syncs"
	}
	return code
}

// capLines words the caps of the places of a run, one a line.
func capLines(r *run.Run) []string {
	var out []string
	for i := range r.Places {
		for _, c := range r.Places[i].Caps {
			out = append(out, clean(fmt.Sprintf("%s: %s (%s)", r.Places[i].Name, CapText(c), c.On)))
		}
	}
	return out
}

// CapText says what a cap leaves, and why.
func CapText(c run.Cap) string {
	switch {
	case c.Doubt():
		return "a synced write survives a power cut " + capWords(c.Code)
	case c.Only != nil:
		return fmt.Sprintf("a way that promises %s keeps less (%s)", c.Only, capWords(c.Code))
	}
	return "no write survives a power cut: " + capWords(c.Code)
}

// claimPromise is what the ways of a claim promise, and what their place leaves of it.
func claimPromise(r *run.Run, c *run.Claim) string {
	text := c.Promise
	for i := range r.Places {
		if pl := &r.Places[i]; pl.Name == c.Place || c.Place == "" && len(r.Places) == 1 {
			for _, most := range pl.Caps {
				if most.Only == nil && !most.Doubt() {
					return fmt.Sprintf("%s; here %s", text, CapText(most))
				}
			}
		}
	}
	return text
}

// promiser is the variant whose promise a finding is about. A finding of a file that
// was changed by hand may name one that is not there.
func promiser(res *run.Result, f *run.Finding) *run.VariantResult {
	if v := res.Variant(f.Baseline); v != nil {
		return v
	}
	return &run.VariantResult{Promise: f.Promise}
}

// afterWords says what a crash in the middle of an operation leaves.
func afterWords(p run.Promise) string {
	if !p.Writes() {
		return "nothing to lose"
	}
	switch p.After {
	case durability.OldOrNew:
		return "all of the old state or all of the new, never a mix"
	case durability.Prefix:
		return "a whole number of steps, from the first on"
	case durability.Torn:
		return "any part may be there and any part missing"
	}
	return p.After.String()
}

// duringText is afterWords as the end of a sentence that begins with what survives.
func duringText(p run.Promise) string {
	if !p.Writes() {
		return ""
	}
	return "; a crash in the middle leaves " + afterWords(p)
}

// levelClass is the class of a promise in the pages' styles.
func levelClass(p run.Promise) string {
	if !p.Writes() {
		return "nothing"
	}
	return p.Level.String()
}
