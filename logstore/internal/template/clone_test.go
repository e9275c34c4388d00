package template

import (
	"fmt"
	"testing"
)

// parseSome parses lines, each some times.
func parseSome(m *Miner, lines ...string) {
	var p Parser
	var text []byte
	p.Reset(m)
	for _, l := range lines {
		for range minLines {
			from := len(text)
			text = append(text, l...)
			p.Add(text, from, len(text))
		}
	}
	p.Finish(text)
}

// templatesAfterForget returns the templates of a miner, after it has forgotten some of them.
func templatesAfterForget(m *Miner) map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.forget()
	found := map[string]bool{}
	for i := range n.byKey {
		if p := n.byKey[i].Load(); p != nil {
			found[p.template.String()] = true
		}
	}
	return found
}

// What a Clone parses changes neither which patterns a Miner forgets nor its memory, and what
// it learns is its own.
func TestClone(t *testing.T) {
	m := NewMiner()
	parseSome(m, "the old one 1", "another old one 2")
	parseSome(m, "the new one 3", "another new one 4")
	before := m.Memory()
	c := m.Clone()
	if n := c.Memory(); n > before {
		t.Errorf("the clone takes %d bytes at first, and the other %d", n, before)
	}
	first := c.Memory()
	for range 10 {
		parseSome(c, "the old one 1", "another old one 2")
	}
	if n := c.Memory(); n != first {
		t.Errorf("the clone takes %d bytes and has learned nothing; want %d", n, first)
	}
	for i := range 10 {
		parseSome(c, fmt.Sprintf("%c is new 5", 'a'+i))
	}
	if n := c.Memory(); n <= first {
		t.Errorf("the clone takes %d bytes with patterns of its own; it took %d", n, first)
	}
	if n := m.Memory(); n != before {
		t.Errorf("the miner takes %d bytes; want %d", n, before)
	}
	if kept := templatesAfterForget(m); !kept["the new one <*>"] || !kept["another new one <*>"] || len(kept) != 2 {
		t.Errorf("the miner has not forgotten the old templates: %v", kept)
	}
}
