package lokiclient

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// An Export is what an export asks for.
type Export struct {
	Query      string
	Start, End int64 // in nanoseconds since the Unix epoch
	Forward    bool
	Limit      int    // lines; 0 means all
	After      string // a cursor: only lines after that entry
}

// ErrTorn reports an export that ended before all lines had come. Export again after the
// last cursor.
var ErrTorn = errors.New("the export was cut off before its end")

// Export ranges over all lines of a query, in constant memory. Only stele serve answers
// it.
func (c *Client) Export(ctx context.Context, x Export) iter.Seq2[Entry, error] {
	v := url.Values{"query": {x.Query}, "start": {strconv.FormatInt(x.Start, 10)}, "end": {strconv.FormatInt(x.End, 10)}, "direction": {"backward"}}
	if x.Forward {
		v.Set("direction", "forward")
	}
	if x.Limit > 0 {
		v.Set("limit", strconv.Itoa(x.Limit))
	}
	if x.After != "" {
		v.Set("after", x.After)
	}
	return func(yield func(Entry, error) bool) {
		p := c.patient(ctx)
		defer p.cancel(nil)
		var resp *http.Response
		err := p.wait(func() (err error) {
			resp, err = c.get(p.ctx, "/stele/api/v1/export", v)
			return err
		})
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer resp.Body.Close()
		readExport(patientReader{p, resp.Body}, yield)
	}
}

// An exportRecord is a line of the answer to an export.
type exportRecord struct {
	Time     string            `json:"time"`
	Line     string            `json:"line"`
	Line64   *string           `json:"line64"`
	Labels   map[string]string `json:"labels"`
	Metadata map[string]string `json:"metadata"`
	Cursor   string            `json:"cursor"`

	End   bool   `json:"end"`
	Error string `json:"error"`
}

func readExport(body io.Reader, yield func(Entry, error) bool) {
	r := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := readLine(r)
		if err != nil {
			yield(Entry{}, fmt.Errorf("%w: %w", ErrTorn, err))
			return
		}
		var x exportRecord
		if err := json.Unmarshal(line, &x); err != nil {
			yield(Entry{}, fmt.Errorf("a line of the export cannot be read: %w", err))
			return
		}
		switch {
		case x.Error != "":
			yield(Entry{}, &Error{Status: http.StatusInternalServerError, Message: x.Error})
			return
		case x.End:
			return
		}
		e, err := x.entry()
		if !yield(e, err) || err != nil {
			return
		}
	}
}

func (x *exportRecord) entry() (Entry, error) {
	e := Entry{Line: x.Line, Labels: x.Labels, Metadata: x.Metadata, Cursor: x.Cursor}
	if x.Line64 != nil {
		data, err := base64.StdEncoding.DecodeString(*x.Line64)
		if err != nil {
			return e, err
		}
		e.Line = string(data)
	}
	var err error
	e.Time, err = strconv.ParseInt(x.Time, 10, 64)
	return e, err
}

// maxRecord bounds a line of an export: a line of 1 MiB of which each byte is escaped,
// its labels and its metadata.
const maxRecord = 16 << 20

// readLine returns a whole line, without its end, valid until the next call.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	long := append([]byte(nil), line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(long) > maxRecord {
			return nil, fmt.Errorf("a line of more than %d bytes", maxRecord)
		}
		line, err = r.ReadSlice('\n')
		long = append(long, line...)
	}
	if err != nil {
		return nil, noEOF(err)
	}
	return long, nil
}

// noEOF turns the end of a file into the error that it is within a line.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
