package claims

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
)

// bufioRewrite is the plain rewrite with a bufio.Reader and a bufio.Writer, the subject of
// the claim, and no other difference.
func bufioRewrite(name string, head []byte, r *bufio.Reader, w *bufio.Writer, content *bytes.Buffer, synced bool) (err error) {
	old, err := os.Open(name)
	if err != nil {
		return err
	}
	r.Reset(old)
	content.Reset()
	_, err = content.ReadFrom(r)
	if err = errors.Join(err, old.Close()); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w.Reset(f)
	if _, err := w.Write(head); err != nil {
		return err
	}
	if _, err := w.Write(content.Bytes()); err != nil {
		return err
	}
	if err := w.Flush(); err != nil || !synced {
		return err
	}
	return f.Sync()
}

func bufioFresh(synced bool) func(name string, head []byte) error {
	return func(name string, head []byte) error {
		return bufioRewrite(name, head, bufio.NewReader(nil), bufio.NewWriter(nil), new(bytes.Buffer), synced)
	}
}

func bufioPooled() func(name string, head []byte) error {
	type kit struct {
		r       *bufio.Reader
		w       *bufio.Writer
		content *bytes.Buffer
	}
	pool := sync.Pool{New: func() any {
		return &kit{bufio.NewReader(nil), bufio.NewWriter(nil), new(bytes.Buffer)}
	}}
	return func(name string, head []byte) error {
		k := pool.Get().(*kit)
		defer pool.Put(k)
		return bufioRewrite(name, head, k.r, k.w, k.content, false)
	}
}

// bufioCoded is the report's second way.
func bufioCoded(name string, head []byte) (err error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	old, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if _, err := w.Write(head); err != nil {
		return err
	}
	if _, err := w.Write(old); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Truncate(int64(w.Size())) // meant as the size of the file
}

// fsyncCoded is the report's third way.
func fsyncCoded(name string, head []byte) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(head, 0)
	return errors.Join(err, f.Sync(), f.Close())
}

// pooledCoded is the report's fourth way.
func pooledCoded() func(name string, head []byte) error {
	pool := sync.Pool{New: func() any { return make([]byte, 0, 512) }}
	return func(name string, head []byte) (err error) {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		old, err := io.ReadAll(f)
		if err != nil {
			return err
		}
		buf := append(append(pool.Get().([]byte), head...), old...)
		_, err = f.WriteAt(buf, 0)
		//lint:ignore SA6002 as the report codes it: each Put allocates
		pool.Put(buf[:0])
		return err
	}
}
