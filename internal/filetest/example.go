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
// test, whose lines begin with their offsets, from first on.
func CheckExample(t *testing.T, first int, got []byte) {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, m := range hexLine.FindAllSubmatch(doc, -1) {
		if at := fmt.Sprintf("%04x", first+len(want)); at != string(m[1]) {
			t.Errorf("the line of offset %s is at %s", m[1], at)
		}
		b, err := hex.DecodeString(strings.ReplaceAll(string(m[2]), " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, b...)
	}
	if len(want) == 0 || !bytes.Equal(got, want) {
		t.Errorf("the package comment has\n%swritten is\n%s", hex.Dump(want), hex.Dump(got))
	}
}
