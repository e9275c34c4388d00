package syntax

func (n *LogExpr) String() string           { return "" }
func (n *RangeAggregation) String() string  { return "" }
func (n *VectorAggregation) String() string { return "" }
func (n *Binary) String() string            { return "" }
func (n *Literal) String() string           { return "" }
func (n *Vector) String() string            { return "" }
func (n *LabelReplace) String() string      { return "" }
func (n *LineFilter) String() string        { return "" }
func (n *JSON) String() string              { return "" }
func (n *Logfmt) String() string            { return "" }
func (n *Regexp) String() string            { return "" }
func (n *Pattern) String() string           { return "" }
func (n *Unpack) String() string            { return "" }
func (n *LabelFilter) String() string       { return "" }
func (n *LineFormat) String() string        { return "" }
func (n *LabelFormat) String() string       { return "" }
func (n *Drop) String() string              { return "" }
func (n *Keep) String() string              { return "" }
func (n *Decolorize) String() string        { return "" }
func (n *And) String() string               { return "" }
func (n *Or) String() string                { return "" }
func (n *TextPredicate) String() string     { return "" }
func (n *NumberPredicate) String() string   { return "" }
func (n *DurationPredicate) String() string { return "" }
func (n *BytesPredicate) String() string    { return "" }
func (n *IPPredicate) String() string       { return "" }
