package logstore

import "time"

// QueryStats tells what a query, or a count, took. See Query.Stats.
type QueryStats struct {
	// Segments that the store had, the groups of up to 256 blocks of those that
	// were opened, and the blocks of the groups that were opened.
	Segments, Groups, Blocks PartStats
	// Bytes are those of lines and metadata in segments, as they were before
	// compression, by what became of the smallest part that has them: how much was
	// ruled out, and by what.
	Bytes PartStats
	// Columns tells how templates and variables of blocks of CodecColumns were used.
	Columns ColumnStats
	// Rereads is how often a block was read once more: for its lines after its
	// times, where a Limit makes a query look at times first, or as memory was short.
	Rereads int64
	// StoredBytes are those of blocks as read, compressed; RawBytes those of lines
	// and metadata that they were decompressed to, or that were looked at in memory.
	// Rereads are counted too. What a query reads of indexes and filters is not.
	StoredBytes, RawBytes int64
	// Lines is how many lines were looked at, in memory and in blocks, and Matched
	// how many of them the filter matched: with Fields.Needs, if they were passed with
	// their lines. More may match than are yielded, as workers read ahead.
	Lines, Matched int64
	// ByFields is how many of Lines were passed by their fields, see Query.Fields, or did not
	// match by these, see FieldFilter: they were not made for that.
	ByFields int64
	// Waited is how long the query waited for memory, and Parked how often it gave
	// up its memory as the consumer was idle.
	Waited time.Duration
	Parked int
}

// PartStats tells what became of the parts of a store that a query considered.
// Considered is the sum of the others.
type PartStats struct {
	Considered int64
	Time       int64 // skipped: no entry has a time in the range
	Streams    int64 // skipped: without a stream that is selected, or all is known from totals or templates
	Filter     int64 // skipped: their filters say that no line matches
	Read       int64
	Left       int64 // not needed any more: the limit was reached, or the iteration ended
}

// ColumnStats tells what a query asked of blocks of CodecColumns, whose lines are templates
// and variables.
type ColumnStats struct {
	// Templates are those of blocks that a filter was asked of, each counted once a block;
	// Known are those that told of all their lines in a block, without its variables,
	// whether they match.
	Templates, Known int64
	// Opened are columns of variables in blocks that were read, Skipped the others of these
	// blocks: no variable of them was decoded.
	Opened, Skipped int64
	// Rebuilt is how many lines were put together from their template and variables.
	Rebuilt int64
}

func (s *ColumnStats) add(o *ColumnStats) {
	s.Templates += o.Templates
	s.Known += o.Known
	s.Opened += o.Opened
	s.Skipped += o.Skipped
	s.Rebuilt += o.Rebuilt
}

// add adds what was counted of one source.
func (s *QueryStats) add(o *QueryStats) {
	s.Segments.add(&o.Segments)
	s.Groups.add(&o.Groups)
	s.Blocks.add(&o.Blocks)
	s.Bytes.add(&o.Bytes)
	s.Columns.add(&o.Columns)
	s.Rereads += o.Rereads
	s.StoredBytes += o.StoredBytes
	s.RawBytes += o.RawBytes
	s.Lines += o.Lines
	s.Matched += o.Matched
	s.ByFields += o.ByFields
}

func (p *PartStats) add(o *PartStats) {
	p.Considered += o.Considered
	p.Time += o.Time
	p.Streams += o.Streams
	p.Filter += o.Filter
	p.Read += o.Read
}

func (p *PartStats) end() { p.Left = p.Considered - p.Time - p.Streams - p.Filter - p.Read }

// tell fills the caller's QueryStats. The scan has ended.
func (x *search) tell(to *QueryStats) {
	if to == nil {
		return
	}
	*to = x.stats
	to.Segments.end()
	to.Groups.end()
	to.Blocks.end()
	to.Bytes.end()
}

// checkBytes ends the scan once it has read more than Query.MaxBytes. mu is held.
func (s *scan) checkBytes() {
	if most := s.x.maxBytes; most > 0 && max(s.x.stats.RawBytes, s.x.stats.StoredBytes) > most {
		s.fail(&LimitError{"Query.MaxBytes", most, "bytes read, with this selector and range of times"})
	}
}
