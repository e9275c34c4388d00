package run

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Write writes the run as JSON, with the layout that Schema names.
func (r *Run) Write(w io.Writer) error {
	out := *r
	out.Schema = Schema
	if out.Results == nil {
		out.Results = []*Result{} // Read takes null for a damaged file
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(&out); err != nil {
		return fmt.Errorf("run: write a run as JSON: %w", err)
	}
	return nil
}

// Read reads a run that Run.Write wrote, of this version of the schema or of
// version 1. Anything else is an error: a damaged file is never read as a run
// without results. Derived figures are returned as they were written, and
// Run.Analyse derives them anew. Version 1 stored sentences: Read derives the
// figures of such a run from the blocks.
//
// Read rejects input that does not begin like JSON without reading it to its end,
// and input of more than 256 MiB: the longest runs have a few.
func Read(r io.Reader) (*Run, error) {
	data, err := readBounded(r)
	if err != nil {
		return nil, fmt.Errorf("run: read: %w", err)
	}
	run, err := parseRun(data)
	if err != nil {
		return nil, fmt.Errorf("run: read: %w", err)
	}
	return run, nil
}

const maxRun = 256 << 20 // bytes

// readBounded reads the input of Read. A file that does not begin like a run is not
// read to its end, however long it is.
func readBounded(r io.Reader) ([]byte, error) {
	br := bufio.NewReader(io.LimitReader(r, maxRun+1))
	begin, err := br.Peek(4096)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if text := bytes.TrimLeft(begin, " \t\r\n"); len(begin) > 0 && (len(text) == 0 || text[0] != '{') {
		return nil, fmt.Errorf("not a Stele run: it begins with %.10q", begin)
	}
	data, err := io.ReadAll(br)
	if err != nil {
		return nil, err
	}
	if len(data) > maxRun {
		return nil, fmt.Errorf("more than %d MiB; want a run of at most that", maxRun>>20)
	}
	return data, nil
}

func parseRun(data []byte) (*Run, error) {
	if len(data) == 0 {
		return nil, errors.New("the file is empty")
	}
	// The schema decides how the rest is read.
	var head struct {
		Schema  *string          `json:"schema"`
		Results *json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset >= int64(len(data)) {
			return nil, fmt.Errorf("the file is cut off after %d bytes", len(data))
		}
		return nil, fmt.Errorf("not a Stele run: %w", err)
	}
	if head.Schema == nil {
		return nil, errors.New("not a Stele run: it names no schema")
	}
	if err := checkSchema(*head.Schema); err != nil {
		return nil, err
	}
	if head.Results == nil {
		return nil, errors.New("the run has no results")
	}
	first := *head.Schema == schema1
	if first {
		var err error
		if data, err = fromVersion1(data); err != nil {
			return nil, err
		}
	}
	run := new(Run)
	if err := json.Unmarshal(data, run); err != nil {
		return nil, err
	}
	if err := run.check(); err != nil {
		return nil, err
	}
	if first {
		run.Schema = Schema
		run.Analyse()
	}
	return run, nil
}

func checkSchema(got string) error {
	if got == Schema || got == schema1 {
		return nil
	}
	name, number, _ := strings.Cut(Schema, "/")
	gotName, gotNumber, _ := strings.Cut(got, "/")
	if gotName != name {
		return fmt.Errorf("not a Stele run: its schema is %q, want %q", got, Schema)
	}
	have, _ := strconv.Atoi(number)
	if n, err := strconv.Atoi(gotNumber); err == nil && n > have {
		return fmt.Errorf("the run was written by a newer Stele: its schema is %q, this one reads %q", got, Schema)
	}
	return fmt.Errorf("the run has the schema %q, this Stele reads %q", got, Schema)
}

// check checks a Run from outside for the invariants that the rest of the package
// relies on.
func (r *Run) check() error {
	if err := r.Settings.Validate(); err != nil {
		return err
	}
	places := map[string]bool{}
	for _, p := range r.Places {
		if places[p.Name] {
			return fmt.Errorf("two places are named %q", p.Name)
		}
		places[p.Name] = true
	}
	type key struct{ id, place string }
	seen := map[key]bool{}
	for i, res := range r.Results {
		switch {
		case res == nil || res.ID == "":
			return fmt.Errorf("result %d has no id", i)
		case !places[res.Place]:
			return fmt.Errorf("result %s is from %q, which is not among the places", res.ID, res.Place)
		case seen[key{res.ID, res.Place}]:
			return fmt.Errorf("two results for %s in %q", res.ID, res.Place)
		}
		seen[key{res.ID, res.Place}] = true
		if err := res.check(); err != nil {
			return fmt.Errorf("result %s: %w", res.ID, err)
		}
	}
	return nil
}

func (res *Result) check() error {
	variants := map[string]bool{}
	for _, v := range res.Variants {
		if v.Name == "" || variants[v.Name] {
			return fmt.Errorf("a variant has no name of its own: %q", v.Name)
		}
		variants[v.Name] = true
	}
	type key struct {
		variant, role string
		round         int
	}
	seen := map[key]bool{}
	for i := range res.Blocks {
		b := &res.Blocks[i]
		switch {
		case !variants[b.Variant]:
			return fmt.Errorf("block %d is of %q, which is not among the variants", i, b.Variant)
		case b.Ops < 0 || b.Wall < 0 || b.Response < 0 || b.Batch < 0:
			return fmt.Errorf("block %d has negative figures", i)
		case b.Waits != nil && !b.Waits.valid():
			return fmt.Errorf("block %d has waits that do not fit together", i)
		case !validCalls(b.Calls):
			return fmt.Errorf("block %d has times of system calls that do not fit together", i)
		}
		switch b.Role {
		case RoleTimed, RoleCalibration, RoleAgainst:
			k := key{b.Variant, b.Role, b.Round}
			if seen[k] {
				return fmt.Errorf("two %s blocks of %s in round %d", b.Role, b.Variant, b.Round)
			}
			seen[k] = true
		case RolePilot, RoleCounted, RoleWaits, RoleTraced, RoleAgainstCounted:
		default:
			return fmt.Errorf("block %d has the unknown role %q", i, b.Role)
		}
	}
	return nil
}
