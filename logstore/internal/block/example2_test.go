package block

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/logstore/internal/template"
)

// example2 is the rows of the worked example of version 2.
func example2() (rows []row) {
	const at = 1_700_000_000_000_000_000
	for i, n := range []int{7, 8, 9, 20} {
		rows = append(rows, row{at + int64(i)*1e6, fmt.Sprintf("GET /items/%d took %d.5 ms", n, i+1), ""})
	}
	rows[0].meta = "id=1"
	return append(rows, row{at + 4e6, "bye", ""})
}

// The worked example of version 2 in the package comment has the rows that it says, with
// the dictionary that it says. What an encoder writes for them may change: of the forms
// that a column can have, it chooses.
func TestWorkedExample2(t *testing.T) {
	p := filetest.Example(t, 0, 1)
	var templates template.Dictionary
	templates.Add(template.New([]byte("GET /items/"), []byte(" took "), []byte(" ms")))
	templates.Add(template.New(nil, nil))
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if d := fmt.Sprintf("%x", templates.Append(nil)); !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(string(doc), "\n//\t", ""), " ", ""), d) {
		t.Errorf("the package comment does not have the dictionary %s", d)
	}
	got, err := decodeWith(new(Decoder), bytes.Clone(p), &templates)
	if err == nil {
		err = same(got, example2())
	}
	if err != nil {
		var e Encoder
		p, d := encode2(t, &e, example2())
		t.Errorf("%v; an encoder writes, with the dictionary % x\n% x", err, d.Append(nil), p)
	}
}
