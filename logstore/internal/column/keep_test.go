package column

import (
	"bytes"
	"runtime/debug"
	"testing"
)

// Dictionaries within dictionaries take no more stack than columns are deep.
func TestKeptByDeep(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(16 << 20))
	deep := func(n int) []byte {
		packed := bytes.Repeat([]byte{byte(Dictionary), 1}, n)
		packed = append(packed, byte(Constant), 1)
		return append(packed, bytes.Repeat([]byte{formConstant, 0}, n)...)
	}
	r := new(Rule)
	r.Forbidden[1] = 1 << ('b' - 64)
	var room Column
	if r.KeptBy(deep(1<<20), []byte("a"), 1, &room) {
		t.Error("a column that is too deep keeps a rule")
	}
	if packed := deep(2); !r.KeptBy(packed, []byte("a"), 1, &room) || r.KeptBy(packed, []byte("b"), 1, &room) {
		t.Error("of two dictionaries within each other it is not known that they keep a rule")
	}
}
