package logql

import (
	"fmt"
	"time"
)

// A LimitError reports a query that exceeds one of Limits.
type LimitError struct {
	Limit string // its name, such as Limits.Series
	Value int64  // in bytes, nanoseconds or a number, as the limit is
	What  string // what exceeds it, with its unit
}

// Error returns what exceeds the limit, and the limit.
func (e *LimitError) Error() string {
	value := fmt.Sprint(e.Value)
	switch e.Limit {
	case "Limits.Time", "Limits.MaxRange":
		value = time.Duration(e.Value).String()
	case "Limits.Memory", "Limits.Bytes":
		value += " bytes"
	}
	return fmt.Sprintf("logql: %s; %s allows %s", e.What, e.Limit, value)
}

// A RequestError reports a Request that makes no sense, such as one that ends before it starts.
type RequestError struct {
	Field string // of Request
	What  string // its value, and what is allowed
}

// Error names the field.
func (e *RequestError) Error() string { return "logql: Request." + e.Field + ": " + e.What }

// An UnsupportedError reports a query of the language that this engine does not answer.
type UnsupportedError struct {
	What string
}

// Error returns what is not supported.
func (e *UnsupportedError) Error() string { return "logql: " + e.What }

// An EvaluationError reports series that an operator cannot join, such as many for one.
type EvaluationError struct {
	What string
}

// Error words it as Loki does.
func (e *EvaluationError) Error() string { return e.What }

// A PipelineError reports a line of a metric query that a stage could not work with.
type PipelineError struct {
	Type   string // of the error: JSONParserErr
	Detail string // "" if there is none
	Series string // the labels of the line
}

// Error words it as Loki does.
func (e *PipelineError) Error() string {
	return fmt.Sprintf("pipeline error: '%s' for series: '%s'.\n"+
		"Use a label filter to intentionally skip this error. (e.g | __error__!=\"%s\").\n"+
		"To skip all potential errors you can match empty errors.(e.g __error__=\"\")\n"+
		"The label filter can also be specified after unwrap. (e.g | unwrap latency | __error__=\"\" )\n", e.Type, e.Series, e.Type)
}
