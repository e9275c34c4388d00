package logql

import "github.com/stele-go/stele/logstore"

// alikeRows finds rows of a batch that are alike, and remembers a number for them. If the query
// has no memory for that, no row is like another one.
type alikeRows struct {
	grow    func(bytes int64) bool
	held    int64 // what grow has allowed
	apart   bool  // no row of the batch is like another one
	mapless int   // how many batches do without maps, as their memory was refused
	codes   rowCodes
	memo    rowMemo
}

// maplessBatches is how many batches do without maps once their memory was refused.
const maplessBatches = 16

// begin begins a batch. Rows that differ in the field without are alike, unless it is -1.
func (a *alikeRows) begin(fields []logstore.FieldColumn, without, rows int) {
	if a.held > 0 && !a.grow(0) { // others need it more
		a.release()
	}
	need := a.memo.arrays(rows) + 4*int64(rows)
	a.apart = !a.hold(max(need, a.held))
	maps := a.mapless == 0
	if !maps {
		a.mapless--
	}
	if !a.apart {
		a.apart = !a.codes.set(fields, without, rows, maps)
	}
	if a.apart {
		a.codes.codes = nil
		a.memo.begin(0, false)
		return
	}
	a.memo.begin(rows, maps)
}

// end ends a batch: maps that it has made larger are kept if that is allowed.
func (a *alikeRows) end() {
	if !a.hold(max(a.weight(), a.held)) {
		a.codes.pairs, a.memo.sparse = nil, nil
		a.codes.most, a.memo.most = 0, 0
		a.mapless = maplessBatches
	}
}

// weight returns about how many bytes are held.
func (a *alikeRows) weight() int64 { return a.memo.weight() + a.codes.weight() }

// hold reports whether so many bytes may be held.
func (a *alikeRows) hold(bytes int64) bool {
	if bytes != a.held && !a.grow(bytes-a.held) {
		return false
	}
	a.held = bytes
	return true
}

// release gives all memory back.
func (a *alikeRows) release() {
	a.codes, a.memo = rowCodes{}, rowMemo{}
	a.hold(0)
}

// of returns the memo of the rows of a class of streams.
func (a *alikeRows) of(class int) memo {
	if a.apart {
		return memo{}
	}
	return a.memo.of(class, a.codes.size)
}

// code returns the code of a row, for its memo.
func (a *alikeRows) code(row int) uint32 {
	if a.apart {
		return 0
	}
	return a.codes.codes[row]
}
