// Package otelio makes OpenTelemetry spans of slow reads and writes: of the operations
// that package fileio traces, and of those of any io.Reader or io.Writer. It is a module
// of its own, so that fileio does not need OpenTelemetry.
//
//	tracer := otel.Tracer("my/service")
//	o := otelio.Options{Slower: 10 * time.Millisecond}
//	w, err := fileio.NewWriter(f, fileio.WriterOptions{Trace: otelio.Trace(ctx, tracer, o)})
//	r := otelio.NewReader(ctx, resp.Body, tracer, o)
//
// # Mistakes to avoid
//
//   - Options{} in production: every operation becomes a span, which costs more than a
//     small read. Set Slower.
//   - The context of a request for a file that outlives it: spans are children of the
//     one in ctx.
//   - Expecting ctx to cancel a read or a write: it is used for spans only.
//   - io.Copy with the result of NewReader or NewWriter: the kernel does not copy then.
//     To trace a copy, set CopyOptions.Trace of package fileio.
//   - Spans instead of a histogram: a span shows one slow operation, not how many there
//     are. See package latency, and the Stats of package fileio.
package otelio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/stele-go/stele/fileio"
)

// Attributes of spans, besides those with a semantic convention: file.path,
// disk.io.direction for reads and writes, and error.type.
const (
	// OffsetKey is the offset in the file at which the operation began, in bytes;
	// absent if it has none.
	OffsetKey = attribute.Key("fileio.offset")
	// BytesKey is the number of bytes transferred, or of the operation's range.
	BytesKey = attribute.Key("fileio.bytes")
)

// Options select the operations that become spans. The zero value selects all, which
// for small reads costs more than the reads.
type Options struct {
	// Slower, if above 0, selects operations that took at least that long, and those
	// that failed.
	Slower time.Duration
	// Kinds, unless empty, selects operations of these kinds.
	Kinds []fileio.OpKind
}

func (o Options) selects(kind fileio.OpKind, d time.Duration, failed bool) bool {
	return (d >= o.Slower || failed) && (len(o.Kinds) == 0 || slices.Contains(o.Kinds, kind))
}

// Trace returns a function for the option Trace of package fileio. It makes a span of
// each operation that o selects, from its start to its end, as a child of the span in
// ctx, with the name of the operation: "fileio.write". For a file that outlives a
// request, use a context that does so too.
//
// An error is recorded and sets the span's status, except io.EOF of a read, which only
// means the end of the file. Several goroutines may call the function at once.
func Trace(ctx context.Context, tracer trace.Tracer, o Options) func(fileio.Op) {
	return func(op fileio.Op) {
		failed := isFailure(op.Kind, op.Err)
		if !o.selects(op.Kind, op.Duration, failed) {
			return
		}
		_, span := tracer.Start(ctx, "fileio."+op.Kind.String(),
			trace.WithTimestamp(op.Start), trace.WithAttributes(attributes(op)...))
		end := op.Start.Add(op.Duration)
		if failed {
			span.RecordError(op.Err, trace.WithTimestamp(end))
			span.SetAttributes(errorType(op.Err))
			span.SetStatus(codes.Error, op.Err.Error())
		}
		span.End(trace.WithTimestamp(end))
	}
}

// isFailure reports whether err is an error other than the end of a file that is read.
// For a write io.EOF means that the other end is closed.
func isFailure(kind fileio.OpKind, err error) bool {
	reads := kind == fileio.OpRead || kind == fileio.OpView
	return err != nil && !(reads && errors.Is(err, io.EOF))
}

// Names of OpenTelemetry's semantic conventions, by value: package semconv would
// tie a user to the version of OpenTelemetry that has it.
const (
	errorTypeKey = attribute.Key("error.type")
	filePathKey  = attribute.Key("file.path")
	directionKey = attribute.Key("disk.io.direction")
)

// errorType returns the text of the system's error, if there is one: few values, and
// none with a path in it.
func errorType(err error) attribute.KeyValue {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errorTypeKey.String(errno.Error())
	}
	return errorTypeKey.String(fmt.Sprintf("%T", err))
}

func attributes(op fileio.Op) []attribute.KeyValue {
	attrs := []attribute.KeyValue{BytesKey.Int64(op.Bytes)}
	if op.Name != "" {
		attrs = append(attrs, filePathKey.String(op.Name))
	}
	if op.Offset >= 0 {
		attrs = append(attrs, OffsetKey.Int64(op.Offset))
	}
	switch op.Kind {
	case fileio.OpRead, fileio.OpView:
		attrs = append(attrs, directionKey.String("read"))
	case fileio.OpWrite:
		attrs = append(attrs, directionKey.String("write"))
	}
	return attrs
}
