package run

// A Mismatch is one thing that keeps two runs from being compared, or that was
// overlooked. A field that its code does not need is empty.
type Mismatch struct {
	Code       string `json:"code"` // one of the Mismatch constants
	Experiment string `json:"experiment,omitempty"`
	Place      string `json:"place,omitempty"`
	Variant    string `json:"variant,omitempty"`
	Field      string `json:"field,omitempty"`
	Old        string `json:"old,omitempty"`
	New        string `json:"new,omitempty"`
}

// Codes of a Mismatch.
const (
	MismatchTolerance   = "tolerance"   // New is no tolerance; Field is the metric
	MismatchMetric      = "metric"      // no figure is named Field
	MismatchSchema      = "schema"      // Old and New differ
	MismatchPartial     = "partial"     // the run of Field, "old" or "new", is not complete for the reason Old or New
	MismatchSetting     = "setting"     // Field, a JSON name of Settings, was Old and is New
	MismatchPlace       = "place"       // the new run was not made in Place
	MismatchEnvironment = "environment" // Field, a JSON name of Environment, was Old and is New in Place
	MismatchPromise     = "promise"     // Variant of Experiment promised Old, now New
	MismatchOneBuild    = "one-build"   // the run had no other program
	MismatchMissing     = "missing"     // the new run lacks Experiment in Place, or its Variant
	MismatchAdded       = "added"       // only the new run has Experiment in Place, or its Variant
	MismatchNothing     = "nothing"     // the runs have nothing in common
)
