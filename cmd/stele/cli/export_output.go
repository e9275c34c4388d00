package cli

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
)

// checkpointBytes is how many bytes of text are written from one place where an
// export can go on to the next. There compressed output begins anew.
var checkpointBytes int64 = 64 << 20

// An exportOutput takes the lines of an export.
type exportOutput struct {
	to       io.Writer
	compress string
	packed   io.WriteCloser // compresses, nil without compression
	buffer   *bufio.Writer
	printer  entryPrinter
	since    int64 // bytes of text since the last checkpoint

	file  *os.File // FILE.part; nil if there are no checkpoints
	name  string   // FILE
	state exportState
	lines int64  // in all
	last  string // the cursor of the last line
}

// newExportOutput returns an output to w. The text of one that is resumed has no header.
func newExportOutput(w io.Writer, format, compress string, resumed bool, look style) (*exportOutput, error) {
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
	o.printer, err = newEntryPrinter(gate, format, look)
	if err != nil {
		return nil, err
	}
	if err := o.printer.flush(); err != nil {
		return nil, err
	}
	gate.w = o.buffer
	return o, nil
}

// newExportFile returns an output to FILE by way of f, its FILE.part.
func newExportFile(f *os.File, name string, state exportState) (*exportOutput, error) {
	o, err := newExportOutput(f, state.Format, state.Compress, state.Bytes > 0, style{})
	if err != nil {
		return nil, err
	}
	o.file, o.name, o.state, o.lines, o.last = f, name, state, state.Lines, state.Cursor
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
	o.lines++
	if o.since += int64(len(e.Line)) + 64; o.since < checkpointBytes || o.file == nil {
		return nil
	}
	return o.checkpoint()
}

// checkpoint makes what was written a place where the export can go on.
func (o *exportOutput) checkpoint() error {
	if o.file == nil || o.last == o.state.Cursor {
		return nil
	}
	if err := o.finish(); err != nil {
		return err
	}
	if err := o.save(); err != nil {
		return err
	}
	return o.begin()
}

// save makes all that was written durable, and then the state that says so.
func (o *exportOutput) save() error {
	if err := o.file.Sync(); err != nil {
		return err
	}
	at, err := o.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	o.state.Bytes, o.state.Lines, o.state.Cursor, o.since = at, o.lines, o.last, 0
	return o.state.write(o.name)
}

// commit gives the file its name.
func (o *exportOutput) commit() error {
	if err := o.finish(); err != nil || o.file == nil {
		return err
	}
	o.state.Complete = true
	if err := errors.Join(o.save(), o.file.Close()); err != nil {
		return err
	}
	o.file = nil
	return endExport(o.name, &o.state, false)
}

// abort closes the file, which stays as it is.
func (o *exportOutput) abort() {
	if o.file != nil {
		o.file.Close()
	}
}
