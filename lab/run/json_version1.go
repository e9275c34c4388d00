package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// schema1 is the schema of runs that stored findings as sentences, and causes of
// waits in words.
const schema1 = "stele.run/1"

// fromVersion1 removes from a run of version 1 the derived fields that had another
// form, which Analyse derives anew, and replaces words of blocks by their codes.
func fromVersion1(data []byte) ([]byte, error) {
	var r map[string]json.RawMessage
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if text, ok := r["partial"]; ok {
		var p Partial
		if err := json.Unmarshal(text, &p.Cause); err != nil {
			return nil, err
		}
		delete(r, "partial")
		if p.Cause != "" {
			var err error
			if r["partial"], err = json.Marshal(&p); err != nil {
				return nil, err
			}
		}
	}
	var results []map[string]json.RawMessage
	if err := json.Unmarshal(r["results"], &results); err != nil {
		return nil, err
	}
	for _, res := range results {
		if err := resultFromVersion1(res); err != nil {
			return nil, err
		}
	}
	var err error
	if r["results"], err = json.Marshal(results); err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

func resultFromVersion1(res map[string]json.RawMessage) error {
	if res == nil {
		return nil // which Run.check refuses
	}
	for _, derived := range []string{"verdict", "refused", "surfaces"} {
		delete(res, derived)
	}
	if text, ok := res["cut"]; ok {
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		cut, err := cutFromVersion1(s)
		if err != nil {
			return err
		}
		if res["cut"], err = json.Marshal(cut); err != nil {
			return err
		}
	}
	if err := blocksFromVersion1(res); err != nil {
		return err
	}
	if res["variants"] == nil {
		return nil
	}
	var variants []map[string]json.RawMessage
	if err := json.Unmarshal(res["variants"], &variants); err != nil {
		return err
	}
	for _, v := range variants {
		for _, derived := range []string{"warnings", "latency", "steady", "trace"} {
			delete(v, derived)
		}
	}
	var err error
	res["variants"], err = json.Marshal(variants)
	return err
}

func blocksFromVersion1(res map[string]json.RawMessage) error {
	if res["blocks"] == nil {
		return nil
	}
	var blocks []map[string]json.RawMessage
	if err := json.Unmarshal(res["blocks"], &blocks); err != nil {
		return err
	}
	for _, b := range blocks {
		if b["waits"] == nil {
			continue
		}
		var err error
		if b["waits"], err = waitsFromVersion1(b["waits"]); err != nil {
			return err
		}
	}
	var err error
	res["blocks"], err = json.Marshal(blocks)
	return err
}

// cutFromVersion1 reads the sentence of Result.Cut: "the budget had room for 3
// of the 6 rounds that a verdict takes; with their pilots they took 5s. ...".
func cutFromVersion1(s string) (*Cut, error) {
	if s == "" {
		return nil, nil
	}
	c := new(Cut)
	var took string
	_, err := fmt.Sscanf(s, "the budget had room for %d of the %d rounds that a verdict takes; with their pilots they took %s", &c.Rounds, &c.Needed, &took)
	if err != nil {
		return nil, fmt.Errorf("cut %q: %w", s, err)
	}
	d, err := time.ParseDuration(strings.TrimSuffix(took, "."))
	if err != nil {
		return nil, fmt.Errorf("cut %q: %w", s, err)
	}
	c.Took = Nanos(d)
	return c, nil
}
