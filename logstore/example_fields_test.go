package logstore_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/stele-go/stele/logstore"
)

// A summer adds up the number behind "took ".
type summer struct{ sum float64 }

var _ logstore.FieldFolder = (*summer)(nil)

var took = []byte("took ")

// Fold takes entries of which no more is known than their lines.
func (s *summer) Fold(r logstore.Result) error {
	if _, rest, ok := bytes.Cut(r.Line, took); ok {
		s.sum += parse(rest)
	}
	return nil
}

func (s *summer) FoldFields(b *logstore.FieldBatch) error {
	field := &b.Fields[0]
	numbers := field.AppendNumbers(nil, parse)
	for _, code := range field.Codes {
		if code != 0 {
			s.sum += numbers[code]
		}
	}
	return nil
}

func parse(text []byte) float64 {
	number, _, _ := bytes.Cut(text, []byte(" "))
	f, _ := strconv.ParseFloat(string(number), 64)
	return f
}

// tookIn finds the number: lines have it where a slot follows "took ", unless one of their
// variables has that text or a blank.
func tookIn(t logstore.LineTemplate) (plan logstore.FieldPlan, ok bool) {
	blank := new(logstore.SlotRule)
	blank.Forbidden.Add(' ', ' ')
	for i := range t.Slots() {
		before, behind := t.Literal(i), t.Literal(i+1)
		if bytes.Contains(before, took) {
			if !bytes.HasSuffix(before, took) || !bytes.HasPrefix(behind, []byte(" ")) {
				return plan, false
			}
			plan.Fields = []logstore.Field{{Pieces: []logstore.Piece{{Slot: i}}}}
			break
		}
	}
	for range t.Slots() {
		plan.Rules = append(plan.Rules, blank)
	}
	return plan, plan.Fields != nil
}

// Numbers in lines are added up, without making a line where blocks have columns.
func ExampleFields() {
	dir, err := os.MkdirTemp("", "fields")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := logstore.Open(dir, logstore.Options{Codec: logstore.CodecColumns})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	var entries []logstore.Entry
	for i := range 1000 {
		entries = append(entries, logstore.Entry{Time: int64(i), Line: fmt.Appendf(nil, "request %d took %d ms", i*i, i%10)})
	}
	if err := s.Append(ctx, logstore.Batch{{Labels: logstore.MustLabels("app", "web"), Entries: entries}}); err != nil {
		log.Fatal(err)
	}
	if err := s.Seal(ctx); err != nil {
		log.Fatal(err)
	}
	var all []*summer
	var stats logstore.QueryStats
	q := logstore.Query{Fields: &logstore.Fields{Number: 1, Of: tookIn}, Stats: &stats}
	err = s.Fold(ctx, q, func(func(int64) error) logstore.Folder {
		all = append(all, new(summer))
		return all[len(all)-1]
	})
	if err != nil {
		log.Fatal(err)
	}
	sum := 0.0
	for _, s := range all {
		sum += s.sum
	}
	fmt.Println(sum, stats.ByFields)
	// Output:
	// 4500 1000
}
