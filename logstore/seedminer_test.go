package logstore

import (
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/logstore/internal/template"
)

// A store that is opened again knows the templates of its newest segments when it first seals:
// as few lines are without one as in a store that was never closed.
func TestLearnTemplates(t *testing.T) {
	dir := t.TempDir()
	o := columnOptions()
	s := openTest(t, dir, o)
	var entries []Entry
	for i, l := range columnLines(rand.New(rand.NewPCG(41, 42)), 3000) {
		entries = append(entries, Entry{Time: int64(i), Line: []byte(l)})
	}
	mustAppend(t, s, Batch{{MustLabels("app", "a"), entries}})
	mustDo(t, s.Seal(t.Context()))
	continued := s.miner.of.Load()
	mustDo(t, s.Close())
	s = openTest(t, dir, o)
	if s.miner.of.Load() != nil {
		t.Error("Open made the miner; want it made when the first block is sealed")
	}
	reopened := s.miner.get(s.learnTemplates)

	next := columnLines(rand.New(rand.NewPCG(43, 44)), 60)
	was, now, fresh := plainLines(continued, next), plainLines(reopened, next), plainLines(template.NewMiner(), next)
	if now > was {
		t.Errorf("%d lines have no template; %d in the store that was not closed", now, was)
	}
	if now >= fresh/2 {
		t.Errorf("%d lines have no template, and %d without what was learned: this tests nothing", now, fresh)
	}
}

// Close closes the catalog before it ends the queries, one of which may be the first to need
// the miner.
func TestLearnTemplatesAfterClose(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	mustDo(t, s.Close())
	m := s.miner.get(s.learnTemplates)
	if m == nil {
		t.Error("there is no miner")
	}
}

// A part of the index that was rebuilt teaches as an intact one does.
func TestLearnTemplatesOfDamage(t *testing.T) {
	lines := columnLines(rand.New(rand.NewPCG(45, 46)), 3000)
	dir, file := sealedColumns(t, lines)
	learned := func() int {
		s := openReadOnlyTest(t, dir)
		return plainLines(s.miner.get(s.learnTemplates), lines[:60])
	}
	intact, none := learned(), plainLines(template.NewMiner(), lines[:60])
	flipSection(t, file, "dictionary")
	flipSection(t, file, "tables")
	if n := learned(); n != intact || n >= none {
		t.Errorf("%d lines have no template; want %d, and %d if nothing is learned", n, intact, none)
	}
}

// plainLines returns how many lines have no template.
func plainLines(m *template.Miner, lines []string) (n int) {
	var p template.Parser
	var text []byte
	p.Reset(m)
	for _, l := range lines {
		from := len(text)
		text = append(text, l...)
		p.Add(text, from, len(text))
	}
	p.Finish(text)
	for i := range lines {
		if k, _ := p.Row(i); p.Table()[k].Template().Key() == template.Plain.Key() {
			n++
		}
	}
	return n
}
