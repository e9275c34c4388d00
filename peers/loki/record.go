package loki

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// An Answer is a query and what Loki said to it.
type Answer struct {
	Query
	Status int             `json:"status"`
	Error  string          `json:"error,omitempty"`
	Type   string          `json:"type,omitempty"` // streams, vector, matrix, scalar
	Result json.RawMessage `json:"result,omitempty"`
}

// Ask asks a query.
func (p *Process) Ask(q Query) (Answer, error) {
	status, body, err := p.get(q.Path(), q.Parameters())
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", q.Query, err)
	}
	a := Answer{Query: q, Status: status}
	if status != 200 {
		a.Error = strings.TrimSpace(string(body))
		return a, nil
	}
	var r struct {
		Data struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return a, fmt.Errorf("%s: %w", q.Query, err)
	}
	a.Type, a.Result = r.Data.ResultType, r.Data.Result
	return a, nil
}

// Answers asks all queries.
func (p *Process) Answers(queries []Query, progress func(done int)) ([]Answer, error) {
	var out []Answer
	for i, q := range queries {
		a, err := p.Ask(q)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
		progress(i + 1)
	}
	return out, nil
}

// WriteLines writes each of rows as a line of JSON.
func WriteLines[T any](file string, rows []T) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, row := range rows {
		if err := e.Encode(row); err != nil {
			f.Close()
			return err
		}
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
