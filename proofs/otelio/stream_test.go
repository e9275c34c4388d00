package otelio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/fileio/otelio"
)

func TestStreamSpans(t *testing.T) {
	p, exporter := provider(t)
	ctx, parent := p.Tracer("test").Start(t.Context(), "request")
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := otelio.NewWriter(ctx, f, p.Tracer("test"), otelio.Options{})
	if _, err := io.WriteString(w, "some bytes"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.(io.WriterAt).WriteAt([]byte("S"), 0); err != nil {
		t.Fatal(err)
	}
	if err := w.(interface{ Sync() error }).Sync(); err != nil {
		t.Fatal(err)
	}
	if err := w.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	r := otelio.NewReader(ctx, f, p.Tracer("test"), otelio.Options{})
	if b, err := io.ReadAll(r); string(b) != "Some bytes" || err != nil {
		t.Fatalf("%q, %v", b, err)
	}
	if _, err := r.(io.ReaderAt).ReadAt(make([]byte, 4), 6); err != nil {
		t.Fatal(err)
	}
	if _, err := r.(io.Seeker).Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if err := r.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	_, err = r.Read(make([]byte, 1)) // of a closed file
	if !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
	var got []string
	for _, s := range exporter.GetSpans() {
		if s.Parent.SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("%s is not below the context's span", s.Name)
		}
		line := s.Name
		for _, a := range s.Attributes {
			switch a.Key {
			case otelio.OffsetKey, otelio.BytesKey:
				line += fmt.Sprintf(" %d", a.Value.AsInt64())
			case "file.path":
				if a.Value.AsString() != path {
					t.Errorf("path %s; want %s", a.Value.AsString(), path)
				}
			}
		}
		if s.Status.Code == codes.Error {
			line += " failed"
		}
		got = append(got, line)
	}
	// The second read finds the end, which is no failure.
	want := "fileio.write 10,fileio.write 1 0,fileio.sync 0,fileio.close 0," +
		"fileio.read 10,fileio.read 0,fileio.read 4 6,fileio.close 0,fileio.read 0 failed"
	if strings.Join(got, ",") != want {
		t.Errorf("spans %s\nwant  %s", strings.Join(got, ","), want)
	}
}

// A Reader or Writer has the methods of the one that it wraps.
func TestStreamMethods(t *testing.T) {
	tracer := noop.NewTracerProvider().Tracer("")
	has := func(v any) (s string) {
		for _, m := range []struct {
			name string
			ok   func() bool
		}{
			{"ReadAt", func() bool { _, ok := v.(io.ReaderAt); return ok }},
			{"WriteAt", func() bool { _, ok := v.(io.WriterAt); return ok }},
			{"Seek", func() bool { _, ok := v.(io.Seeker); return ok }},
			{"Sync", func() bool { _, ok := v.(interface{ Sync() error }); return ok }},
			{"Close", func() bool { _, ok := v.(io.Closer); return ok }},
			{"WriteTo", func() bool { _, ok := v.(io.WriterTo); return ok }},
			{"ReadFrom", func() bool { _, ok := v.(io.ReaderFrom); return ok }},
		} {
			if m.ok() {
				s += m.name + " "
			}
		}
		return strings.TrimSpace(s)
	}
	r, rs, rc, rsc := strings.NewReader(""), io.NewSectionReader(strings.NewReader(""), 0, 0), io.NopCloser(&bytes.Buffer{}), os.Stdin
	for _, c := range []struct {
		r    io.Reader
		want string
	}{
		{iotest.ErrReader(nil), ""},
		{r, "ReadAt Seek"},
		{rs, "ReadAt Seek"},
		{rc, "Close"},
		{rsc, "ReadAt Seek Close"},
		{struct {
			io.Reader
			io.ReaderAt
		}{r, r}, "ReadAt"},
		{struct {
			io.Reader
			io.Seeker
		}{r, r}, "Seek"},
		{struct {
			io.Reader
			io.ReaderAt
			io.Closer
		}{r, r, rc}, "ReadAt Close"},
		{struct {
			io.ReadSeeker
			io.Closer
		}{r, rc}, "Seek Close"},
	} {
		if got := has(otelio.NewReader(t.Context(), c.r, tracer, otelio.Options{})); got != c.want {
			t.Errorf("of %T: %q; want %q", c.r, got, c.want)
		}
	}
	type syncer interface{ Sync() error }
	w := os.Stdout
	for _, c := range []struct {
		w    io.Writer
		want string
	}{
		{&bytes.Buffer{}, ""},
		{w, "WriteAt Sync Close"},
		{struct {
			io.Writer
			io.WriterAt
			syncer
		}{w, w, w}, "WriteAt Sync"},
		{struct {
			io.Writer
			io.WriterAt
			io.Closer
		}{w, w, w}, "WriteAt Close"},
		{struct {
			io.Writer
			syncer
			io.Closer
		}{w, w, w}, "Sync Close"},
		{struct {
			io.Writer
			io.WriterAt
		}{w, w}, "WriteAt"},
		{struct {
			io.Writer
			syncer
		}{w, w}, "Sync"},
		{struct {
			io.Writer
			io.Closer
		}{w, w}, "Close"},
	} {
		if got := has(otelio.NewWriter(t.Context(), c.w, tracer, otelio.Options{})); got != c.want {
			t.Errorf("of %T: %q; want %q", c.w, got, c.want)
		}
	}
}

// A fast operation makes no span, and one that fails does.
func TestStreamChosen(t *testing.T) {
	p, exporter := provider(t)
	hour := otelio.Options{Slower: time.Hour}
	r := otelio.NewReader(t.Context(), strings.NewReader("some bytes"), p.Tracer("test"), hour)
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	if n := len(exporter.GetSpans()); n != 0 {
		t.Errorf("%d spans of fast reads", n)
	}
	failing := otelio.NewReader(t.Context(), iotest.ErrReader(io.ErrUnexpectedEOF), p.Tracer("test"), hour)
	if _, err := failing.Read(nil); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
	if n := len(exporter.GetSpans()); n != 1 {
		t.Errorf("%d spans of a failure; want 1", n)
	}
	// A stream whose other end is closed fails with io.EOF, which is no end of a file.
	if _, err := otelio.NewWriter(t.Context(), gone{}, p.Tracer("test"), hour).Write([]byte("bytes")); err != io.EOF {
		t.Error(err)
	}
	if s := exporter.GetSpans(); len(s) != 2 || s[1].Status.Code != codes.Error {
		t.Errorf("spans of a write that fails with io.EOF: %v", s)
	}
	exporter.Reset()
	only := otelio.Options{Kinds: []fileio.OpKind{fileio.OpSync}}
	if _, err := otelio.NewWriter(t.Context(), io.Discard, p.Tracer("test"), only).Write(nil); err != nil {
		t.Fatal(err)
	}
	if n := len(exporter.GetSpans()); n != 0 {
		t.Errorf("%d spans of writes, where syncs are wanted", n)
	}
	buf := make([]byte, 1)
	endless := otelio.NewReader(context.Background(), zeros{}, p.Tracer("test"), hour)
	if n := testing.AllocsPerRun(100, func() { endless.Read(buf) }); n != 0 {
		t.Errorf("a fast read allocates %v times", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// gone is a stream whose other end is closed.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.EOF }

func BenchmarkReader(b *testing.B) {
	tracer := noop.NewTracerProvider().Tracer("")
	buf := make([]byte, 1)
	for _, c := range []struct {
		name string
		r    io.Reader
	}{{"plain", zeros{}}, {"traced", otelio.NewReader(context.Background(), zeros{}, tracer, otelio.Options{Slower: time.Second})}} {
		b.Run("way="+c.name, func(b *testing.B) {
			for b.Loop() {
				c.r.Read(buf)
			}
		})
	}
}
