package otelio

import (
	"context"
	"io"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/stele-go/stele/fileio"
)

// A stream traces the calls of one reader or writer. It has all methods that the wrapped
// one may have; the results of NewReader and NewWriter have those that it does have.
type stream struct {
	name  string
	o     Options
	trace func(fileio.Op)

	r  io.Reader
	ra io.ReaderAt
	s  io.Seeker
	w  io.Writer
	wa io.WriterAt
	sy syncer
	c  io.Closer
}

type syncer interface{ Sync() error }

func newStream(ctx context.Context, of any, tracer trace.Tracer, o Options) *stream {
	s := &stream{o: o, trace: Trace(ctx, tracer, o)}
	if n, ok := of.(interface{ Name() string }); ok {
		s.name = n.Name()
	}
	return s
}

// traceOp makes a span of an operation if the options select it. Otherwise it only
// reads the clock.
func (s *stream) traceOp(kind fileio.OpKind, off int64, n int, start time.Time, err error) {
	d := time.Since(start)
	if s.o.selects(kind, d, isFailure(kind, err)) {
		s.trace(fileio.Op{Kind: kind, Name: s.name, Offset: off, Bytes: int64(n), Start: start, Duration: d, Err: err})
	}
}

func (s *stream) Read(p []byte) (int, error) {
	start := time.Now()
	n, err := s.r.Read(p)
	s.traceOp(fileio.OpRead, -1, n, start, err)
	return n, err
}

func (s *stream) ReadAt(p []byte, off int64) (int, error) {
	start := time.Now()
	n, err := s.ra.ReadAt(p, off)
	s.traceOp(fileio.OpRead, off, n, start, err)
	return n, err
}

func (s *stream) Seek(offset int64, whence int) (int64, error) { return s.s.Seek(offset, whence) }

func (s *stream) Write(p []byte) (int, error) {
	start := time.Now()
	n, err := s.w.Write(p)
	s.traceOp(fileio.OpWrite, -1, n, start, err)
	return n, err
}

func (s *stream) WriteAt(p []byte, off int64) (int, error) {
	start := time.Now()
	n, err := s.wa.WriteAt(p, off)
	s.traceOp(fileio.OpWrite, off, n, start, err)
	return n, err
}

func (s *stream) Sync() error {
	start := time.Now()
	err := s.sy.Sync()
	s.traceOp(fileio.OpSync, -1, 0, start, err)
	return err
}

func (s *stream) Close() error {
	start := time.Now()
	err := s.c.Close()
	s.traceOp(fileio.OpClose, -1, 0, start, err)
	return err
}

// NewReader returns a reader from r whose operations become spans as described at Trace.
// The spans are named fileio.read and fileio.close, and have the path of r if it has a
// method Name, as files have. An operation that o does not select costs two readings of
// the clock.
//
// The result is also an io.ReaderAt, io.Seeker and io.Closer if r is. It is never an
// io.WriterTo and has no other methods of r, which would transfer bytes without a span.
// So io.Copy uses Read.
func NewReader(ctx context.Context, r io.Reader, tracer trace.Tracer, o Options) io.Reader {
	s := newStream(ctx, r, tracer, o)
	s.r = r
	var at, seek, closes bool
	s.ra, at = r.(io.ReaderAt)
	s.s, seek = r.(io.Seeker)
	s.c, closes = r.(io.Closer)
	switch {
	case at && seek && closes:
		return struct{ readAtSeekCloser }{s}
	case at && seek:
		return struct{ readAtSeeker }{s}
	case at && closes:
		return struct{ readAtCloser }{s}
	case seek && closes:
		return struct{ io.ReadSeekCloser }{s}
	case at:
		return struct{ readAt }{s}
	case seek:
		return struct{ io.ReadSeeker }{s}
	case closes:
		return struct{ io.ReadCloser }{s}
	}
	return struct{ io.Reader }{s}
}

// What a reader may be beside the combinations that package io has.
type (
	readAt interface {
		io.Reader
		io.ReaderAt
	}
	readAtSeeker interface {
		readAt
		io.Seeker
	}
	readAtCloser interface {
		readAt
		io.Closer
	}
	readAtSeekCloser interface {
		readAtSeeker
		io.Closer
	}
)

// NewWriter returns a writer to w whose operations become spans as described at Trace,
// named fileio.write, fileio.sync and fileio.close. Written bytes survive what they
// survive in w: the writer has no buffer.
//
// The result is also an io.WriterAt and an io.Closer, and has a method Sync() error, if
// w does. It is never an io.ReaderFrom or io.Seeker.
func NewWriter(ctx context.Context, w io.Writer, tracer trace.Tracer, o Options) io.Writer {
	s := newStream(ctx, w, tracer, o)
	s.w = w
	var at, syncs, closes bool
	s.wa, at = w.(io.WriterAt)
	s.sy, syncs = w.(syncer)
	s.c, closes = w.(io.Closer)
	switch {
	case at && syncs && closes:
		return struct{ writeAtSyncCloser }{s}
	case at && syncs:
		return struct{ writeAtSyncer }{s}
	case at && closes:
		return struct{ writeAtCloser }{s}
	case syncs && closes:
		return struct{ writeSyncCloser }{s}
	case at:
		return struct{ writeAt }{s}
	case syncs:
		return struct{ writeSyncer }{s}
	case closes:
		return struct{ io.WriteCloser }{s}
	}
	return struct{ io.Writer }{s}
}

// What a writer may be beside the combinations that package io has.
type (
	writeAt interface {
		io.Writer
		io.WriterAt
	}
	writeSyncer interface {
		io.Writer
		syncer
	}
	writeAtSyncer interface {
		writeAt
		syncer
	}
	writeAtCloser interface {
		writeAt
		io.Closer
	}
	writeSyncCloser interface {
		writeSyncer
		io.Closer
	}
	writeAtSyncCloser interface {
		writeAtSyncer
		io.Closer
	}
)
