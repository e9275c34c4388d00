package logql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stele-go/stele/logql/internal/prefilter"
	"github.com/stele-go/stele/logstore"
)

// A Plan says what a query does, in a tree, and what was read and skipped for it.
type Plan struct {
	Root *PlanNode `json:"tree"`
	Text string    `json:"text"` // the tree as text, a line for each node and each of its notes
}

// A PlanNode is a part of a Plan.
type PlanNode struct {
	Name     string      `json:"name"`            // what it does: lines, count, fold, sum by (app)
	Query    string      `json:"query,omitempty"` // the part of the query
	Notes    []string    `json:"notes,omitempty"` // how it does it
	Children []*PlanNode `json:"children,omitempty"`
	// Store is what the store read and skipped for the node, nil if it was not asked.
	Store *logstore.QueryStats `json:"store,omitempty"`
}

func (n *PlanNode) note(format string, args ...any) {
	n.Notes = append(n.Notes, fmt.Sprintf(format, args...))
}

// split notes what becomes of stages: what the index answers of them, what the lines are
// scanned for, and what is left for the pipeline.
func (n *PlanNode) split(s prefilter.Split) {
	how := func(condition string) string {
		if slices.Contains(s.Scanned, condition) {
			return "scan"
		}
		return "index, then scan"
	}
	for _, c := range s.Exact {
		n.note("%s: %s", how(c), c)
	}
	for _, c := range s.Needed {
		n.note("%s for what later stages need: %s", how(c), c)
	}
	for _, stage := range s.Rest {
		n.note("the pipeline runs: %s", stage)
	}
}

func (n *PlanNode) child(c *PlanNode) *PlanNode {
	n.Children = append(n.Children, c)
	return c
}

// plan returns the tree below n, which may be the only child's.
func (n *PlanNode) plan() *Plan {
	root := n
	if n.Name == "" && len(n.Children) == 1 {
		root = n.Children[0]
	}
	var b strings.Builder
	root.write(&b, "")
	return &Plan{Root: root, Text: b.String()}
}

func (n *PlanNode) write(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s", indent, n.Name)
	if n.Query != "" {
		fmt.Fprintf(b, ": %s", n.Query)
	}
	b.WriteByte('\n')
	indent += "  "
	for _, s := range n.Notes {
		fmt.Fprintf(b, "%s- %s\n", indent, s)
	}
	if s := n.Store; s != nil {
		writePart(b, indent, "segments", &s.Segments)
		writePart(b, indent, "blocks", &s.Blocks)
		writePart(b, indent, "bytes", &s.Bytes)
		if c := &s.Columns; *c != (logstore.ColumnStats{}) {
			fmt.Fprintf(b, "%s- templates of blocks: %d, %d of which told of all their lines; columns: %d read, %d skipped; %d lines rebuilt\n",
				indent, c.Templates, c.Known, c.Opened, c.Skipped, c.Rebuilt)
		}
		fmt.Fprintf(b, "%s- lines: %d looked at, %d matched; %d bytes read of files, %d bytes of lines\n", indent, s.Lines, s.Matched, s.StoredBytes, s.RawBytes)
	}
	if n.Store != nil && n.Store.ByFields > 0 {
		fmt.Fprintf(b, "%s- fields from columns: of %d lines, which were not made\n", indent, n.Store.ByFields)
	}
	for _, c := range n.Children {
		c.write(b, indent)
	}
}

func writePart(b *strings.Builder, indent, name string, p *logstore.PartStats) {
	fmt.Fprintf(b, "%s- %s: %d; skipped %d by time, %d by streams or totals, %d by the index, %d not needed; read %d\n",
		indent, name, p.Considered, p.Time, p.Streams, p.Filter, p.Left, p.Read)
}
