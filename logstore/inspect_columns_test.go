package logstore

import "testing"

// The costs of a segment add up to its size, with each codec, and its templates and columns
// have all lines.
func TestInspectColumns(t *testing.T) {
	for _, c := range []Codec{CodecLines, CodecColumns} {
		dir, o := t.TempDir(), anyTime()
		o.Codec = c
		s := openTest(t, dir, o)
		appendShop(t, s, 0)
		mustDo(t, s.Seal(t.Context()))
		mustDo(t, s.Close())
		in, err := InspectSegment(mustFindSegments(t, dir, 1)[0])
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		costs, err := in.Costs()
		sum, by := int64(0), map[string]int64{}
		for _, k := range costs {
			sum += k.Bytes
			by[k.Part] = k.Bytes
		}
		if err != nil || sum != in.Size || by["lines"] <= 0 || by["times"] <= 0 || by["metadata"] <= 0 || by["positions"] <= 0 || by["index"] <= 0 || (by["templates"] > 0) != (c == CodecColumns) {
			t.Errorf("%v: %v of %d bytes, %v", c, costs, in.Size, err)
		}
		templates, err := in.Templates()
		rows := int64(0)
		for _, k := range templates {
			rows += k.Rows
		}
		if err != nil || c == CodecColumns && (rows != in.Rows || templates[0].Slots == 0) || c == CodecLines && rows != 0 {
			t.Errorf("%v: %v have %d lines of %d, %v", c, templates, rows, in.Rows, err)
		}
		columns, err := in.Columns()
		if err != nil || (len(columns) > 0) != (c == CodecColumns) {
			t.Errorf("%v: %v, %v", c, columns, err)
		}
		for b, err := range in.EachBlock() {
			if err != nil || b.Codec != c {
				t.Errorf("%v: %+v, %v", c, b, err)
			}
		}
	}
}

// An error of the file system is told again only if it comes again.
func TestCostsAfterAnError(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, anyTime())
	appendShop(t, s, 0)
	mustDo(t, s.Seal(t.Context()))
	mustDo(t, s.Close())
	in, err := InspectSegment(mustFindSegments(t, dir, 1)[0])
	mustDo(t, err)
	mustDo(t, in.Close())
	if _, err := in.Costs(); err == nil || lasts(err) {
		t.Fatalf("a file that is closed: %v", err)
	}
	if in.blockSizes != nil {
		t.Error("the error is kept")
	}
}
