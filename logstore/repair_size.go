package logstore

const (
	// repairLogSegment is the size of the files of a new log, if the records are
	// not larger.
	repairLogSegment = 4 << 20
	// fillerBytes bounds the bytes of the record at a position that is lost.
	fillerBytes = logHead + 16
)

// logSegmentSize returns the size of the files of the new log: a record may have a
// quarter of a file. Open makes larger ones after them.
func (p *RepairPlan) logSegmentSize() int64 {
	size := int64(repairLogSegment)
	for size/4 < p.largest+1024 {
		size *= 2
	}
	return size
}

// newLogBytes returns how many bytes the new log takes: whole files, each of which
// may have space for one more record, and one ahead.
func (p *RepairPlan) newLogBytes() int64 {
	const besides = 64 << 10 // META, the report, directories
	if p.First == p.Next {
		return besides
	}
	size := p.logSegmentSize()
	fillers := int64(p.Next-p.First) - int64(p.KeptRecords())
	bytes := p.KeptBytes + fillers*fillerBytes
	return (bytes/(size-size/4)+2)*size + besides
}
