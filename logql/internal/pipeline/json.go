package pipeline

import (
	"errors"

	"github.com/stele-go/stele/logql/internal/jsonscan"
	"github.com/stele-go/stele/logql/internal/logfmt"
)

// maxDepth bounds the objects within objects that labels are made of.
const maxDepth = 64

var errDepth = errors.New("objects are nested too deeply")

// jsonDetails are the texts of errors.
var jsonDetails = func() map[error][]byte {
	m := map[error][]byte{}
	for _, err := range []error{
		jsonscan.ErrSyntax, jsonscan.ErrString, jsonscan.ErrArray, jsonscan.ErrObject, jsonscan.ErrValue, jsonscan.ErrEscape, errDepth,
	} {
		m[err] = []byte(err.Error())
	}
	return m
}()

func (r *Run) failJSON(err error) bool { return r.fail(jsonFailed, jsonDetails[err]) }

// jsonValue returns the text of a value.
func (r *Run) jsonValue(v jsonscan.Value) []byte {
	if !v.Escaped {
		return r.clean(v.Raw, false)
	}
	return r.clean(r.unescape(v.Raw), true)
}

// jsonAll is | json.
type jsonAll struct {
	keys int // the index of the cache
}

func (s *jsonAll) run(r *Run) bool {
	if !r.p.all && r.set.missing == 0 {
		return true
	}
	c := &r.keys[s.keys]
	c.next = 0
	if _, err := s.object(r, c, r.Line, -1, 0); err != nil {
		r.failJSON(err)
	}
	return true
}

// object makes labels of an object. It returns false once no more are needed.
func (s *jsonAll) object(r *Run, c *keyCache, data []byte, prefix int32, depth int) (more bool, err error) {
	if depth == maxDepth {
		return false, errDepth
	}
	var scan jsonscan.Scanner
	var f jsonscan.Field
	for scan.Init(data); scan.Next(&f); {
		if f.KeyEscaped && len(r.unescape(f.Key)) == 0 {
			return false, jsonscan.ErrEscape
		}
		k := c.find(r, f.Key, f.KeyEscaped, prefix)
		switch f.Value.Kind {
		case jsonscan.Array, jsonscan.Null:
			continue
		case jsonscan.Object:
			if k.inner < 0 {
				continue
			}
			if more, err := s.object(r, c, f.Value.Raw, k.inner, depth+1); !more || err != nil {
				return more, err
			}
			continue
		}
		if k.id < 0 {
			continue
		}
		id := r.set.target(k.id)
		if r.set.open(id) && !r.set.found(id, r.jsonValue(f.Value)) {
			return false, nil
		}
	}
	return true, scan.Err()
}

// jsonPaths is | json with extractions.
type jsonPaths struct {
	paths  []jsonscan.Path
	labels []extractedLabel
}

func (s *jsonPaths) run(r *Run) bool {
	if len(r.Line) == 0 {
		return true
	}
	if c := r.Line[0]; c != '{' && c != '[' && c != '"' {
		return r.fail(jsonFailed, nil)
	}
	for i, path := range s.paths {
		v, found, err := jsonscan.Get(r.Line, path)
		if err != nil {
			r.failJSON(err)
		}
		if !found {
			s.labels[i].setMissing(r)
			continue
		}
		var value []byte
		if v.Kind != jsonscan.Null {
			value = r.jsonValue(v)
		}
		r.set.parse(s.labels[i].target(r), value)
	}
	return true
}

// logfmtStep is | logfmt.
type logfmtStep struct {
	strict, keepEmpty bool
	keys              int // the index of the cache
}

func (s *logfmtStep) run(r *Run) bool {
	if !r.p.all && r.set.missing == 0 {
		return true
	}
	c := &r.keys[s.keys]
	c.next = 0
	var scan logfmt.Scanner
	var pair logfmt.Pair
	for scan.Init(r.Line); ; {
		if !scan.Next(&pair) {
			if !s.resume(r, &scan) {
				return true
			}
			continue
		}
		if len(pair.Value) == 0 && !s.keepEmpty {
			continue
		}
		k := c.find(r, pair.Key, false, -1)
		if k.id < 0 {
			continue
		}
		id := r.set.target(k.id)
		if r.set.open(id) && !r.set.found(id, r.logfmtValue(&pair)) {
			return true
		}
	}
}

// resume reports whether scan, which has no pair, goes on behind an error.
func (s *logfmtStep) resume(r *Run, scan *logfmt.Scanner) bool {
	err := scan.Err()
	if err == nil {
		return false
	}
	if s.strict {
		r.fail(logfmtFailed, r.make(err.Append))
	}
	return !s.strict
}

func (r *Run) logfmtValue(p *logfmt.Pair) []byte {
	if !p.Escaped {
		return r.clean(p.Value, false)
	}
	return r.clean(r.make(func(buf []byte) []byte { return logfmt.AppendUnescaped(buf, p.Value) }), true)
}
