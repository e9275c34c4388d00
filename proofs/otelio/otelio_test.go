package otelio_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/fileio/otelio"
)

func provider(t testing.TB) (*sdk.TracerProvider, *tracetest.InMemoryExporter) {
	exporter := tracetest.NewInMemoryExporter()
	p := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	t.Cleanup(func() { p.Shutdown(context.Background()) })
	return p, exporter
}

// The operations of a Writer become spans below that of the context, with their times.
func TestWriter(t *testing.T) {
	p, exporter := provider(t)
	tracer := p.Tracer("test")
	ctx, parent := tracer.Start(t.Context(), "request")
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before := time.Now()
	w, err := fileio.NewWriter(f, fileio.WriterOptions{Trace: otelio.Trace(ctx, tracer, otelio.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("some bytes"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	after := time.Now()
	var names []string
	for _, s := range exporter.GetSpans() {
		names = append(names, s.Name)
		if s.Parent.SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("%s is not below the context's span", s.Name)
		}
		if s.StartTime.Before(before) || s.EndTime.Before(s.StartTime) || s.EndTime.After(after) {
			t.Errorf("%s from %v to %v", s.Name, s.StartTime, s.EndTime)
		}
		if s.Status.Code != codes.Unset || !slices.Contains(s.Attributes, attribute.String("file.path", f.Name())) {
			t.Errorf("%s: %v, %v", s.Name, s.Status, s.Attributes)
		}
	}
	if want := []string{"fileio.write", "fileio.sync", "fileio.close"}; !slices.Equal(names, want) {
		t.Errorf("spans %v, want %v", names, want)
	}
	write := exporter.GetSpans()[0].Attributes
	for _, want := range []attribute.KeyValue{
		attribute.Int64("fileio.offset", 0), attribute.Int64("fileio.bytes", 10), attribute.String("disk.io.direction", "write"),
	} {
		if !slices.Contains(write, want) {
			t.Errorf("%v, want %v", write, want)
		}
	}
}

func TestChosen(t *testing.T) {
	start := time.Now()
	op := func(kind fileio.OpKind, took time.Duration, err error) fileio.Op {
		return fileio.Op{Kind: kind, Name: "file", Offset: -1, Start: start, Duration: took, Err: err}
	}
	broken := &fs.PathError{Op: "read", Path: "file", Err: syscall.EIO}
	for _, c := range []struct {
		o    otelio.Options
		op   fileio.Op
		want string // "" is no span
	}{
		{otelio.Options{}, op(fileio.OpRead, 0, nil), "fileio.read Unset"},
		{otelio.Options{}, op(fileio.OpRead, 0, io.EOF), "fileio.read Unset"},
		{otelio.Options{}, op(fileio.OpRead, 0, broken), "fileio.read Error"},
		{otelio.Options{Slower: time.Second}, op(fileio.OpRead, time.Millisecond, nil), ""},
		{otelio.Options{Slower: time.Second}, op(fileio.OpRead, time.Second, nil), "fileio.read Unset"},
		{otelio.Options{Slower: time.Second}, op(fileio.OpRead, 0, broken), "fileio.read Error"},
		{otelio.Options{Slower: time.Second}, op(fileio.OpRead, 0, io.EOF), ""},
		{otelio.Options{Kinds: []fileio.OpKind{fileio.OpSync}}, op(fileio.OpRead, 0, broken), ""},
		{otelio.Options{Kinds: []fileio.OpKind{fileio.OpSync}}, op(fileio.OpSync, 0, nil), "fileio.sync Unset"},
	} {
		p, exporter := provider(t)
		otelio.Trace(t.Context(), p.Tracer("test"), c.o)(c.op)
		got := ""
		for _, s := range exporter.GetSpans() {
			got += s.Name + " " + s.Status.Code.String()
			if s.EndTime.Sub(s.StartTime) != c.op.Duration {
				t.Errorf("the span took %v, the operation %v", s.EndTime.Sub(s.StartTime), c.op.Duration)
			}
			if failed := s.Status.Code == codes.Error; failed != (len(s.Events) == 1) || failed != has(s.Attributes, "error.type") {
				t.Errorf("%v, %v, %v", s.Status, s.Events, s.Attributes)
			}
			if failed := c.op.Err == broken; failed != slices.Contains(s.Attributes, attribute.String("error.type", syscall.EIO.Error())) {
				t.Errorf("%v", s.Attributes)
			}
			if has(s.Attributes, otelio.OffsetKey) {
				t.Errorf("an operation without an offset has %v", s.Attributes)
			}
		}
		if got != c.want {
			t.Errorf("%+v of %+v gave %q, want %q", c.o, c.op, got, c.want)
		}
	}
}

func has(attrs []attribute.KeyValue, key attribute.Key) bool {
	return slices.ContainsFunc(attrs, func(a attribute.KeyValue) bool { return a.Key == key })
}

// Only the syncs, and only the slow ones.
func ExampleTrace() {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	f, err := os.CreateTemp("", "otelio")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	w, err := fileio.NewWriter(f, fileio.WriterOptions{
		Trace: otelio.Trace(context.Background(), provider.Tracer("example"), otelio.Options{
			Kinds:  []fileio.OpKind{fileio.OpSync},
			Slower: time.Nanosecond,
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(w, "some bytes")
	fmt.Println(w.Close())
	for _, s := range exporter.GetSpans() {
		fmt.Println(s.Name)
	}
	// Output:
	// <nil>
	// fileio.sync
}
