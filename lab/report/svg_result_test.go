package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/run/runtest"
)

func drawn(t *testing.T, r *run.Run, res *run.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := SVG(&b, r, res); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGoldenSVG(t *testing.T) {
	r := runtest.Sample()
	golden(t, "sample.svg", drawn(t, r, r.Results[1]))
}

// Each result becomes well-formed XML that loads nothing, with no figure where
// nothing was measured.
func TestSVG(t *testing.T) {
	nothing := &run.Result{ID: "s/n", Variants: []run.VariantResult{{Name: "a", Error: "broken"}}}
	r := runtest.Sample()
	for _, res := range append(r.Results, nothing, &run.Result{}) {
		picture := drawn(t, r, res)
		d := xml.NewDecoder(bytes.NewReader(picture))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", res.ID, err)
			}
		}
		text := strings.Replace(string(picture), `xmlns="http://www.w3.org/2000/svg"`, "", 1)
		if m := regexp.MustCompile(`(?i)<script|\bhref=|@import|url\(|https?://| on[a-z]+=|NaN|Inf`).FindString(text); m != "" {
			t.Errorf("%s: the picture has %q", res.ID, m)
		}
	}
}
