package tree

import (
	"reflect"
	"testing"
)

func TestOpsCodec(t *testing.T) {
	ops := []Op{
		{Kind: OpCreate, Node: 2, Dir: 1, Name: "a", Mode: TypeFile | 0o644, Path: "a"},
		{Kind: OpWrite, Node: 2, Off: 5, Len: 3, Size: 5, Path: "a", Data: []byte("abc")},
		{Kind: OpXattr, Node: 2, Target: "user.x", Path: "a", Data: []byte{0}},
		{Kind: OpRename, Node: 2, Dir: 1, Name: "a", Dir2: 1, Name2: "b\xff", Path: "a", Path2: "b"},
		{Kind: OpSyncFS},
	}
	var b []byte
	var want []int64
	for i := range ops {
		var err error
		if b, err = AppendOp(b, &ops[i]); err != nil {
			t.Fatal(err)
		}
		want = append(want, int64(len(b)))
	}
	got, ends, err := ParseOps(b)
	if err != nil || !reflect.DeepEqual(got, ops) || !reflect.DeepEqual(ends, want) {
		t.Errorf("%v at %v, %v; want %v at %v", got, ends, err, ops, want)
	}
	for n := range len(b) {
		if _, ends, err := ParseOps(b[:n]); err == nil && (n > 0) != (len(ends) > 0 && ends[len(ends)-1] == int64(n)) {
			t.Errorf("cut at %d it is whole", n)
		}
	}
}
