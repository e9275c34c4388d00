package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
)

// exportSchema names the layout of the state of an export.
const exportSchema = "stele.export/1"

// checkpointBytes is how many bytes of text are written from one place where an
// export can go on to the next. There compressed output begins anew.
const checkpointBytes = 64 << 20

// An exportState says how far FILE.part goes.
type exportState struct {
	Schema   string `json:"schema"`
	Query    string `json:"query"`
	From     int64  `json:"from,string"` // of the first call, as are To and Format
	To       int64  `json:"to,string"`
	Format   string `json:"format"`
	Compress string `json:"compress"`
	Bytes    int64  `json:"bytes"`  // of FILE.part
	Cursor   string `json:"cursor"` // of the last line there
}

// An exportOutput takes the lines of an export.
type exportOutput struct {
	to       io.Writer
	compress string
	packed   io.WriteCloser // compresses, nil without compression
	buffer   *bufio.Writer
	printer  entryPrinter
	since    int64 // bytes of text since the last checkpoint

	file  *os.File // nil for standard output
	name  string
	state exportState
	last  string // the cursor of the last line
}

// newExportOutput returns an output to w. resumed has no header.
func newExportOutput(w io.Writer, format, compress string, resumed bool) (*exportOutput, error) {
	o := &exportOutput{to: w, compress: compress, buffer: bufio.NewWriterSize(w, 256<<10)}
	if err := o.begin(); err != nil {
		return nil, err
	}
	var text io.Writer = o.buffer
	var err error
	if resumed {
		text = io.Discard // for the header
	}
	gate := &switchWriter{text}
	o.printer, err = newEntryPrinter(gate, format, style{})
	if err != nil {
		return nil, err
	}
	if err := o.printer.flush(); err != nil {
		return nil, err
	}
	gate.w = o.buffer
	return o, nil
}

// A switchWriter writes to one writer after the other.
type switchWriter struct{ w io.Writer }

func (s *switchWriter) Write(p []byte) (int, error) { return s.w.Write(p) }

// begin begins a member of compressed output.
func (o *exportOutput) begin() error {
	switch o.compress {
	case "gzip":
		o.packed = gzip.NewWriter(o.to)
	case "zstd":
		z, err := zstd.NewWriter(o.to, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		o.packed = z
	default:
		o.buffer.Reset(o.to)
		return nil
	}
	o.buffer.Reset(o.packed)
	return nil
}

// finish ends a member of compressed output, so that all is with the file.
func (o *exportOutput) finish() error {
	err := errors.Join(o.printer.flush(), o.buffer.Flush())
	if o.packed != nil {
		err = errors.Join(err, o.packed.Close())
	}
	return err
}

func (o *exportOutput) write(e lokiclient.Entry) error {
	if err := o.printer.print(e); err != nil {
		return err
	}
	o.last = e.Cursor
	if o.since += int64(len(e.Line)) + 64; o.since < checkpointBytes || o.file == nil {
		return nil
	}
	return o.checkpoint()
}

// checkpoint makes what was written a place where the export can go on.
func (o *exportOutput) checkpoint() error {
	if o.file == nil || o.last == "" || o.last == o.state.Cursor {
		return nil
	}
	if err := o.finish(); err != nil {
		return err
	}
	if err := o.file.Sync(); err != nil {
		return err
	}
	at, err := o.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	o.state.Bytes, o.state.Cursor, o.since = at, o.last, 0
	data, err := json.MarshalIndent(o.state, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(stateOf(o.name), append(data, '\n'), 0o666); err != nil {
		return err
	}
	return o.begin()
}

// commit gives the file its name.
func (o *exportOutput) commit() error {
	if err := o.finish(); err != nil || o.file == nil {
		return err
	}
	if err := errors.Join(o.file.Sync(), o.file.Close()); err != nil {
		return err
	}
	o.file = nil
	if err := os.Rename(partOf(o.name), o.name); err != nil {
		return err
	}
	if err := os.Remove(stateOf(o.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return syncDir(filepath.Dir(o.name))
}

// abort closes the file, which stays as it is.
func (o *exportOutput) abort() {
	if o.file != nil {
		o.file.Close()
	}
}

func partOf(name string) string  { return name + ".part" }
func stateOf(name string) string { return partOf(name) + ".state" }

// openExport opens the file of an export. With --resume ask goes on where it ended.
func openExport(x *exporting, ask *lokiclient.Export) (*exportOutput, error) {
	state := exportState{Schema: exportSchema, Query: ask.Query, From: ask.Start, To: ask.End, Format: x.output, Compress: x.compress}
	flags := os.O_RDWR | os.O_CREATE | os.O_TRUNC
	if x.resume {
		old, err := readExportState(x.file)
		if err != nil {
			return nil, err
		}
		if old.Query != state.Query || old.Format != state.Format || old.Compress != state.Compress {
			return nil, fmt.Errorf("--resume: %s is of another export, %s as %s with %s; want the same query and formats", partOf(x.file), old.Query, old.Format, old.Compress)
		}
		state, flags = old, os.O_RDWR
		ask.Start, ask.End, ask.After = old.From, old.To, old.Cursor
	}
	f, err := os.OpenFile(partOf(x.file), flags, 0o666)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(state.Bytes); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(state.Bytes, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	o, err := newExportOutput(f, x.output, x.compress, state.Bytes > 0)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	o.file, o.name, o.state = f, x.file, state
	return o, nil
}

func readExportState(name string) (s exportState, err error) {
	data, err := os.ReadFile(stateOf(name))
	if errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("--resume: %s: nothing to go on with: %w", stateOf(name), err)
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil || s.Schema != exportSchema {
		return s, fmt.Errorf("--resume: %s: schema %q, %v; want %q", stateOf(name), s.Schema, err, exportSchema)
	}
	return s, nil
}

// syncDir makes the names of a directory durable, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrInvalid) && !errors.Is(err, os.ErrPermission) {
		return err
	}
	return nil
}
