package segment

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/segment/segmenttest"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A block of a version that this program does not know is no damage: Verify names it.
func TestBlockOfANewerVersion(t *testing.T) {
	const newer = 3
	var e block.Encoder
	e.Add(1, []byte("a line"), nil)
	content, err := e.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := segmenttest.NewWriter(&out)
	for i := range newer + 2 {
		p := bytes.Clone(content)
		if i == newer {
			p[0] = 9
		}
		if err := w.AddBlock(p, nil, []segmenttest.Run{{Labels: labelsOf(i), Rows: 1, MinTime: 1, MaxTime: 1, Raw: 6}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(segment2.Info{After: 1, Upto: 2}); err != nil {
		t.Fatal(err)
	}
	err = open(t, out.Bytes()).Verify(t.Context(), func(bad error) { t.Errorf("Verify reports damage: %v", bad) })
	v, ok := errors.AsType[*block.VersionError](err)
	if !ok || v.Version != 9 || isCorrupt(err) || !strings.Contains(err.Error(), "a.seg: block 3") {
		t.Errorf("Verify: %v", err)
	}
}
