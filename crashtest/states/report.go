package states

import (
	"fmt"
	"strings"
)

// A Report is the result of a check of crash states.
type Report struct {
	Model      Model
	Ops        int    // operations of the history
	Cuts       int    // points at which it was cut: before each sync and acknowledgement, and at the end
	States     int    // crash states that there are; some of them look the same
	AtLeast    bool   // there are more than States: counting ended there
	Checked    int    // states checked: those that look different or come with another ledger
	Exhaustive bool   // all States were made
	Seed       uint64 // 0 if nothing was drawn
	Failed     int    // states that failed
	// Failures are the first, at most three, that failed in different ways,
	// reduced to the losses that they need to fail.
	Failures []Failure
	// Broken is the reason why states could not be checked, or nil.
	Broken error
}

// A Failure is a crash state for which the check returned an error.
type Failure struct {
	ID    string   // for Options.Only
	At    int      // operations before the cut
	Acked int      // entries of the ledger before the cut
	Lost  []string // operations that are lost or torn; empty if the cut alone is enough
	Err   error    // error of the check
	Trace []string // operations before the cut, with marks at those of Lost
}

// Err returns nil if no state failed. Otherwise it returns an error that reads
// like the report and wraps the errors of the check.
func (r Report) Err() error {
	if r.Broken != nil {
		return r.Broken
	}
	if r.Failed == 0 {
		return nil
	}
	errs := make([]error, 0, 1+len(r.Failures))
	for _, f := range r.Failures {
		errs = append(errs, f.Err)
	}
	return &stateError{text: r.String(), causes: errs}
}

// A stateError reads like a report and wraps the errors of the check.
type stateError struct {
	text   string
	causes []error
}

func (e *stateError) Error() string   { return e.text }
func (e *stateError) Unwrap() []error { return e.causes }

// String returns the counts and the failures.
func (r Report) String() string {
	if r.Broken != nil {
		return r.Broken.Error()
	}
	var b strings.Builder
	more := ""
	if r.AtLeast {
		more = "more than "
	}
	fmt.Fprintf(&b, "%v: %d operations, cut at %d points: %s%d crash states, %d different ones checked", r.Model, r.Ops, r.Cuts, more, r.States, r.Checked)
	if r.Exhaustive {
		b.WriteString(", exhaustive")
	} else if r.Seed != 0 {
		fmt.Fprintf(&b, ", not exhaustive (seed %d)", r.Seed)
	}
	fmt.Fprintf(&b, ", %d failed", r.Failed)
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "\n%v", f)
	}
	if len(r.Failures) > 0 {
		fmt.Fprintf(&b, "\nto check just the first of them: states.Options{Only: %q}", r.Failures[0].ID)
	}
	return b.String()
}

// String returns the error of the check and the operations, lost ones marked.
func (f Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "state %s, %d acknowledged: %v", f.ID, f.Acked, f.Err)
	for _, line := range f.Trace {
		b.WriteString("\n\t" + line)
	}
	return b.String()
}

// failure describes a state.
func (f *frame) failure(v []int, err error) Failure {
	marks := map[int]string{}
	fail := Failure{ID: f.stateID(v), At: f.at, Acked: f.acked, Err: err}
	first := f.at
	for i, c := range f.change {
		loss := f.loss(i, v[i])
		if loss == "" {
			continue
		}
		first = min(first, c.op)
		marks[c.op] = strings.Trim(marks[c.op]+", "+loss, ", ")
		fail.Lost = append(fail.Lost, f.model.ops[c.op].String()+": "+loss)
	}
	fail.Trace = f.trace(first, marks)
	return fail
}

// loss describes the outcome of change i, or returns "" if it is kept.
func (f *frame) loss(i, out int) string {
	c := f.change[i]
	switch {
	case out == outKept:
		return ""
	case out == outLost && c.half != "":
		return "lost: the " + c.half
	case out == outLost:
		return "lost"
	}
	switch p := f.tears[i][out-outTorn]; {
	case p.hole:
		return fmt.Sprintf("torn: [%d, %d) is not there", p.from, p.to)
	case p.from == p.to:
		return "torn: the size is there, the data is not"
	case p.to < p.size && f.model.ops[c.op].Extends():
		return fmt.Sprintf("torn: only [%d, %d) is there, and the size", p.from, p.to)
	default:
		return fmt.Sprintf("torn: only [%d, %d) is there", p.from, p.to)
	}
}

// trace returns the operations before the cut, with marks: all of a short
// history, else those near the first loss, the marks and the cut.
func (f *frame) trace(first int, marks map[int]string) (lines []string) {
	const near = 8
	from := max(0, min(first-near/2, f.at-near))
	if f.at <= 3*near {
		from = 0
	}
	if from > 0 {
		lines = append(lines, fmt.Sprintf("... %d operations", from))
	}
	for i := from; i < f.at; i++ {
		if f.at-from > 4*near && marks[i] == "" && i > from+near && i < f.at-near {
			if i == from+near+1 {
				lines = append(lines, "...")
			}
			continue
		}
		line := fmt.Sprintf("%3d %v", i+1, &f.model.ops[i])
		if marks[i] != "" {
			line += "  <- " + marks[i]
		}
		lines = append(lines, line)
	}
	return append(lines, "    -- crash")
}
