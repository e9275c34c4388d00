package logstore

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestCodecText(t *testing.T) {
	for _, c := range []Codec{0, CodecLines, CodecColumns} {
		text, err := c.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got Codec
		if err := got.UnmarshalText(text); err != nil || got != c || string(text) != c.String() {
			t.Errorf("%v: %q, then %v, %v", c, text, got, err)
		}
	}
	if text, err := Codec(3).MarshalText(); err == nil {
		t.Errorf("codec 3: %q", text)
	}
	for _, text := range []string{"", "Lines", "logstore.Codec(3)"} {
		if c := CodecColumns; c.UnmarshalText([]byte(text)) == nil || c != CodecColumns {
			t.Errorf("%q: %v", text, c)
		}
	}
}

func TestCodecOption(t *testing.T) {
	o, err := Options{}.resolve()
	if err != nil || o.Codec != defaultCodec {
		t.Errorf("%v, %v; want %v", o.Codec, err, defaultCodec)
	}
	_, err = Options{Codec: 3}.resolve()
	if !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "Options.Codec: logstore.Codec(3)") {
		t.Error(err)
	}
}
