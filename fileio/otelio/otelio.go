// Package otelio makes OpenTelemetry spans of the operations that package
// fileio tells of. It stands alone so that fileio needs no OpenTelemetry.
//
//	tracer := otel.Tracer("my/service")
//	w, err := fileio.NewWriter(f, fileio.WriterOptions{
//		Trace: otelio.Trace(ctx, tracer, otelio.Options{Slower: 10 * time.Millisecond}),
//	})
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

// Trace returns a function for the option Trace of package fileio. It makes a
// span of each operation that o takes, from its start to its end, below the
// span in ctx: a file that outlives a request is traced with a context that
// does so too. The span has the name of the operation: "fileio.write".
//
// An error is recorded and makes the span's status one, but for io.EOF, with
// which a file that was read ends. The function may be called by several
// goroutines at once.
func Trace(ctx context.Context, tracer trace.Tracer, o Options) func(fileio.Op) {
	return func(op fileio.Op) {
		failed := op.Err != nil && !errors.Is(op.Err, io.EOF)
		if op.Duration < o.Slower && !failed || len(o.Kinds) > 0 && !slices.Contains(o.Kinds, op.Kind) {
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

// errorType is the system's word for what went wrong, where it is an error of
// the system: few values, and none of them with a path in it.
func errorType(err error) attribute.KeyValue {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return semconv.ErrorTypeKey.String(errno.Error())
	}
	return semconv.ErrorType(err)
}

func attributes(op fileio.Op) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.FilePath(op.Name), BytesKey.Int64(op.Bytes)}
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
