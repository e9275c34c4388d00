package logstore

// fillerBytes bounds the bytes of the record at a position that is lost.
const fillerBytes = logHead + 16

// newLogBytes returns how many bytes the new log takes: whole files, each of which
// may have space for one more record, and one ahead.
func (p *RepairPlan) newLogBytes() int64 {
	const besides = 64 << 10 // META, the report, directories
	if p.First == p.Next {
		return besides
	}
	size := newLogSegmentSize(p.largest)
	fillers := int64(p.Next-p.First) - int64(p.KeptRecords())
	bytes := p.KeptBytes + fillers*fillerBytes
	return (bytes/(size-size/4)+2)*size + besides
}
