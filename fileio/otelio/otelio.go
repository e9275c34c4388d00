// Package otelio makes OpenTelemetry spans of slow reads and writes: of the
// operations that package fileio tells of, and of any io.Reader or io.Writer. It
// stands alone so that fileio needs no OpenTelemetry.
//
//	tracer := otel.Tracer("my/service")
//	o := otelio.Options{Slower: 10 * time.Millisecond}
//	w, err := fileio.NewWriter(f, fileio.WriterOptions{Trace: otelio.Trace(ctx, tracer, o)})
//	r := otelio.NewReader(ctx, resp.Body, tracer, o)
//
// # Mistakes to avoid
//
//   - With Options{} every operation becomes a span, which costs more than a
//     small read. Set Slower.
//   - Spans are below the one in ctx. A file that outlives a request needs a
//     context that does so too.
//   - ctx is for spans only: it does not cancel a read or a write.
//   - io.Copy to or from what NewReader and NewWriter return does not copy in the
//     kernel. To trace that, trace package fileio's Copy.
//   - A span shows one slow operation, not how many there are. Watch those in a
//     histogram: see package latency, and the Stats of package fileio.
package otelio

import (
	"context"
	"errors"
	"io"
	"slices"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/stele-go/stele/fileio"
)

// Attributes of a span beside those that have a semantic convention: file.path,
// disk.io.direction of reads and writes, and error.type.
const (
	// OffsetKey is where in the file the operation began, in bytes; absent
	// where it has no offset.
	OffsetKey = attribute.Key("fileio.offset")
	// BytesKey is how many bytes it moved, or was about.
	BytesKey = attribute.Key("fileio.bytes")
)

// Options say which operations become spans. The zero value takes all, which
// for small reads costs more than the reads.
type Options struct {
	// Slower leaves out what took less time. Errors are never left out by it.
	Slower time.Duration
	// Kinds, unless empty, leaves out all others.
	Kinds []fileio.OpKind
}

func (o Options) takes(kind fileio.OpKind, d time.Duration, failed bool) bool {
	return (d >= o.Slower || failed) && (len(o.Kinds) == 0 || slices.Contains(o.Kinds, kind))
}

// Trace returns a function for the option Trace of package fileio. It makes a
// span of each operation that o takes, from its start to its end, below the
// span in ctx: a file that outlives a request is traced with a context that
// does so too. The span has the name of the operation: "fileio.write".
//
// An error is recorded and makes the span's status one, but for the io.EOF of a
// read, with which a file ends. The function may be called by several goroutines
// at once.
func Trace(ctx context.Context, tracer trace.Tracer, o Options) func(fileio.Op) {
	return func(op fileio.Op) {
		failed := isFailure(op.Kind, op.Err)
		if !o.takes(op.Kind, op.Duration, failed) {
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

// isFailure reports whether err is more than the end of what is read. To a write
// io.EOF says that the other end is gone.
func isFailure(kind fileio.OpKind, err error) bool {
	reads := kind == fileio.OpRead || kind == fileio.OpView
	return err != nil && !(reads && errors.Is(err, io.EOF))
}

// errorType is the system's word for what went wrong, where it is an error of
// the system: few values, and none of them with a path in it.
func errorType(err error) attribute.KeyValue {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return semconv.ErrorTypeKey.String(errno.Error())
	}
	return semconv.ErrorType(err)
}

func attributes(op fileio.Op) []attribute.KeyValue {
	attrs := []attribute.KeyValue{BytesKey.Int64(op.Bytes)}
	if op.Name != "" {
		attrs = append(attrs, semconv.FilePath(op.Name))
	}
	if op.Offset >= 0 {
		attrs = append(attrs, OffsetKey.Int64(op.Offset))
	}
	switch op.Kind {
	case fileio.OpRead, fileio.OpView:
		attrs = append(attrs, semconv.DiskIODirectionRead)
	case fileio.OpWrite:
		attrs = append(attrs, semconv.DiskIODirectionWrite)
	}
	return attrs
}
