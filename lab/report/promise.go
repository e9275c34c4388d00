package report

import (
	"strings"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
)

// survivesSame says, at the end of a clause, what two variants of one promise survive.
// It is empty where they write nothing.
func survivesSame(p run.Promise) string {
	if !p.Writes() {
		return ""
	}
	if what, ok := strings.CutPrefix(p.Survives(), "survives "); ok {
		return " and survives the same: " + what
	}
	return " and " + p.Survives() + ", like it"
}

// eachSurvives is survivesSame for any number of variants.
func eachSurvives(p run.Promise) string {
	if !p.Writes() {
		return ""
	}
	return "; each " + p.Survives()
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
