package segment2

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// docBytes returns the package comment without what does not stand for bytes in its
// examples.
func docBytes(t testing.TB) string {
	t.Helper()
	doc := strings.ReplaceAll(string(must(os.ReadFile("doc.go"))), "//\t", "")
	return strings.NewReplacer(" ", "", "\n", "").Replace(doc)
}

// The examples of the package comment.
func TestBatchesExample(t *testing.T) {
	doc := docBytes(t)
	for _, p := range [][]byte{
		appendBatchKeys(nil, []BatchKey{
			{Tenant: "t", Key: [16]byte([]byte("sixteen letters.")), Came: 1000, Position: 5, Handled: 3},
			{Tenant: "t", Key: [16]byte([]byte("and another one.")), Came: 1001, Position: 6, Handled: 7, More: true},
		}),
		appendBatchSources(nil, []BatchSource{{Name: "a/1", Offset: 9, Position: 5}, {Name: "a/2", Offset: 200, Position: 4}}),
	} {
		if !strings.Contains(doc, fmt.Sprintf("%x", p)) {
			t.Errorf("the package comment does not have % x", p)
		}
	}
}

// all yields the items of a list.
func all[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range list {
			if !yield(one, nil) {
				return
			}
		}
	}
}

func someKeys(r *rand.Rand, n int, position uint64) (list []BatchKey) {
	for i := range n {
		list = append(list, BatchKey{
			Tenant: []string{"", "a", "another"}[r.IntN(3)], Key: [16]byte(randomBytes(r, 16)), Came: 1000 + int64(i/100),
			Position: position + uint64(i/3), Handled: r.IntN(1 << 30), More: r.IntN(3) == 0,
		})
	}
	return list
}

func someSources(r *rand.Rand, n int) (list []BatchSource) {
	for i := range n {
		list = append(list, BatchSource{
			Tenant: []string{"", "a", "another"}[i*3/n], Name: fmt.Sprintf("/var/log/pods/%06d", i), Offset: r.Uint64() >> r.IntN(64), Position: r.Uint64N(1000),
		})
	}
	return list
}

// withBatches writes a segment of one row that remembers keys and sources.
func withBatches(t *testing.T, number int, keys []BatchKey, sources []BatchSource) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, Info{After: uint64(number), Upto: uint64(number) + 1})
	w.AddStreams("", slices.Values([]string{labelsOf("app", "api")}))
	b := packedBlock{rows: []row{{line: "line"}}}
	b.encode(t, new(packer), false)
	w.AddBlock(EncodedBlock{Block: b.block, Codec: CodecLines, Runs: Runs{{Rows: 1, Raw: 4}}, IDs: []ID{{uint64(number) + 1, 0}}})
	w.AddFilter(b.filter)
	err := errors.Join(w.AddKeys(all(keys)), w.AddSources(all(sources)))
	if _, finished := w.Finish(); err != nil || finished != nil {
		t.Fatal(err, finished)
	}
	return out.Bytes()
}

// batchesIn returns the keys and sources of a segment, and the first error.
func batchesIn(t *testing.T, p []byte) (keys []BatchKey, sources []BatchSource, err error) {
	t.Helper()
	src := memory{p: p}
	card, err := OpenCard(src, int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	if card.HasKeys() != (card.section(TypeKeys) != nil) || card.HasSources() != (card.section(TypeSources) != nil) {
		t.Error("the card does not tell what the segment remembers")
	}
	for k, bad := range card.BatchKeys(t.Context(), src) {
		if bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		keys = append(keys, k)
	}
	for s, bad := range card.BatchSources(t.Context(), src) {
		if bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		sources = append(sources, s)
	}
	return keys, sources, err
}

func TestBatchesAreKept(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, batchSources, batchKeys, 3*batchKeys + 1} {
		keys, sources := someKeys(r, n, 7), someSources(r, n)
		p := withBatches(t, 0, keys, sources)
		gotKeys, gotSources, err := batchesIn(t, p)
		if err != nil || !slices.Equal(gotKeys, keys) || !slices.Equal(gotSources, sources) {
			t.Errorf("%d: %d keys, %d sources, %v", n, len(gotKeys), len(gotSources), err)
		}
		x := must(openBytes(p, false, nil))
		if err := errors.Join(x.card.Verify(t.Context(), x.src, nil), x.card.VerifyIndex(t.Context(), x.src)); err != nil {
			t.Error(err)
		}
		t.Logf("%d keys and sources: %d bytes", n, len(p))
	}
}

func TestBatchesAreChecked(t *testing.T) {
	long := strings.Repeat("x", 300)
	failed := errors.New("failed")
	for name, add := range map[string]func(w *Writer) error{
		"a long tenant of a key":    func(w *Writer) error { return w.AddKeys(all([]BatchKey{{Tenant: long}})) },
		"a count below 0":           func(w *Writer) error { return w.AddKeys(all([]BatchKey{{Handled: -1}})) },
		"a long name":               func(w *Writer) error { return w.AddSources(all([]BatchSource{{Name: long}})) },
		"a long tenant of a source": func(w *Writer) error { return w.AddSources(all([]BatchSource{{Tenant: long}})) },
		"sources twice": func(w *Writer) error {
			w.AddSources(all(make([]BatchSource, 1)))
			return w.AddSources(all(make([]BatchSource, 1)))
		},
		"an error of the caller": func(w *Writer) error {
			return w.AddKeys(func(yield func(BatchKey, error) bool) { yield(BatchKey{}, failed) })
		},
	} {
		w := NewWriter(new(bytes.Buffer), Info{Upto: 1})
		if err := add(w); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := w.Finish(); err == nil {
			t.Errorf("%s: the segment was finished", name)
		}
	}
}

// Of several segments a merge keeps all keys that are young enough, and the
// sources of the newest segment that has some.
func TestMergeOfBatches(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var sources []mergeable
	var want []BatchKey
	var known []BatchSource
	for i := range 4 {
		keys, list := someKeys(r, 500*i, uint64(i)), someSources(r, 100*(i%3))
		want = append(want, keys...)
		if len(list) > 0 {
			known = list
		}
		sources = append(sources, mergeable2(t, withBatches(t, i, keys, list), nil))
	}
	const since = 1005
	want = slices.DeleteFunc(want, func(k BatchKey) bool { return k.Came < since })
	p, _, err := tryMerge(t.Context(), sources, MergeOptions{BlockRaw: 1, KeysSince: since})
	if err != nil {
		t.Fatal(err)
	}
	keys, got, err := batchesIn(t, p)
	if err != nil || !slices.Equal(keys, want) || !slices.Equal(got, known) {
		t.Errorf("%d keys and %d sources, %v; want %d and %d", len(keys), len(got), err, len(want), len(known))
	}
}

// One damaged byte loses a part of the keys, or all sources, and is told. Merges
// refuse it.
func TestDamagedBatches(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	keys, sources := someKeys(r, 2*batchKeys, 7), someSources(r, 2*batchSources)
	p := withBatches(t, 0, keys, sources)
	x := must(openBytes(p, false, nil))
	for _, kind := range []Type{TypeKeys, TypeSources} {
		s := x.card.section(kind)
		for _, at := range []int64{s.off, s.off + s.bytes/2, s.off + s.bytes - 1} {
			bad := bytes.Clone(p)
			bad[at] ^= 1
			gotKeys, gotSources, err := batchesIn(t, bad)
			lost := len(keys) - len(gotKeys) + len(sources) - len(gotSources)
			if !isCorrupt(err) || lost == 0 || !areOf(keys, gotKeys) || !areOf(sources, gotSources) {
				t.Errorf("section %d, byte %d: %d lost, %v", kind, at-s.off, lost, err)
			}
			if _, _, err := tryMerge(t.Context(), []mergeable{mergeable2(t, bad, nil)}, MergeOptions{BlockRaw: 1}); !isCorrupt(err) {
				t.Errorf("section %d, byte %d: the merge: %v", kind, at-s.off, err)
			}
			var out bytes.Buffer
			_, told, err := Salvage(t.Context(), &out, memory{p: bad}, int64(len(bad)), x.card.info, MergeOptions{BlockRaw: 1})
			if err != nil || len(told) == 0 {
				t.Fatalf("section %d, byte %d: salvage: %v, %v", kind, at-s.off, told, err)
			}
			keptKeys, keptSources, err := batchesIn(t, out.Bytes())
			wantSources := sources
			if kind == TypeSources {
				wantSources = nil
			}
			if err != nil || !slices.Equal(keptKeys, gotKeys) || !slices.Equal(keptSources, wantSources) {
				t.Errorf("section %d, byte %d: salvage keeps %d keys and %d sources, %v", kind, at-s.off, len(keptKeys), len(keptSources), err)
			}
		}
	}
}

// areOf reports whether some are of the list, in its order.
func areOf[T comparable](list, some []T) bool {
	for _, one := range list {
		if len(some) > 0 && some[0] == one {
			some = some[1:]
		}
	}
	return len(some) == 0
}

func FuzzBatches(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	f.Add(appendBatchKeys(nil, someKeys(r, 5, 9)))
	f.Add(appendBatchSources(nil, someSources(r, 5)))
	f.Fuzz(func(t *testing.T, p []byte) {
		if keys, err := parseBatchKeys(nil, p); err == nil {
			if again, err := parseBatchKeys(nil, appendBatchKeys(nil, keys)); err != nil || !slices.Equal(again, keys) {
				t.Errorf("%v, %v; want %v", again, err, keys)
			}
		}
		if sources, err := parseBatchSources(p); err == nil {
			if again, err := parseBatchSources(appendBatchSources(nil, sources)); err != nil || !slices.Equal(again, sources) {
				t.Errorf("%v, %v; want %v", again, err, sources)
			}
		}
	})
}
