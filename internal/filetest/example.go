package filetest

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var hexLine = regexp.MustCompile(`(?m)^//\t([0-9a-f]{4})((?: +[0-9a-f]{2})+)$`)

// CheckExample compares got with the hex dump in doc.go of the package under
// test, whose lines begin with their offsets, from first on. Of several hex dumps, each
// from first on, got is the first.
func CheckExample(t *testing.T, first int, got []byte) {
	t.Helper()
	if want := Example(t, first, 0); !bytes.Equal(got, want) {
		t.Errorf("the package comment has\n%swritten is\n%s", hex.Dump(want), hex.Dump(got))
	}
}

// Example returns the bytes of one of the hex dumps in doc.go of the package under test,
// which are numbered from 0. The lines of each begin with their offsets, from first on.
func Example(t *testing.T, first, number int) []byte {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var dumps [][]byte
	for _, m := range hexLine.FindAllSubmatch(doc, -1) {
		if len(dumps) == 0 || string(m[1]) == fmt.Sprintf("%04x", first) {
			dumps = append(dumps, nil)
		}
		last := &dumps[len(dumps)-1]
		if at := fmt.Sprintf("%04x", first+len(*last)); at != string(m[1]) {
			t.Errorf("the line of offset %s is at %s", m[1], at)
		}
		b, err := hex.DecodeString(strings.ReplaceAll(string(m[2]), " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		*last = append(*last, b...)
	}
	if number >= len(dumps) {
		t.Fatalf("the package comment has %d examples; want more than %d", len(dumps), number)
	}
	return dumps[number]
}
