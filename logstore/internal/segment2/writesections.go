package segment2

import "errors"

// Finish writes the index and ends the segment.
func (w *Writer) Finish() (Info, error) {
	if w.begin(addingSections) != nil {
		return Info{}, w.err
	}
	w.count()
	if w.labels.count > 0 {
		w.fail(w.putIndex())
	}
	w.fail(w.putSection(section{kind: TypeOrigin, items: 1}, appendOrigin(nil, w.info)))
	var table []byte
	for _, s := range w.sections {
		table = s.append(table)
	}
	f := footer{salt: w.salt, table: w.out.size(), tableBytes: uint32(len(table)), tableSum: checksum(table)}
	w.out.put(table)
	w.info.Size = w.out.size() + footerSize
	f.info = w.info
	w.out.put(f.append(nil))
	w.out.flush()
	if w.fail(nil) != nil {
		return Info{}, w.err
	}
	w.step = finished
	w.err = errors.New("segment: the Writer is finished")
	return w.info, nil
}

// count computes the totals of the segment and its tenants.
func (w *Writer) count() {
	w.info.Streams, w.info.Blocks = w.labels.count, len(w.groups.blocks)
	for i, z := range w.groups.zones {
		if i == 0 {
			w.info.MinTime, w.info.MaxTime = z.MinTime, z.MaxTime
		}
		w.info.MinTime, w.info.MaxTime = min(w.info.MinTime, z.MinTime), max(w.info.MaxTime, z.MaxTime)
		w.info.Rows += z.Rows
		w.info.Raw += z.Raw
	}
	rest := w.groups.blocks
	for i := range w.index.tenants {
		t := &w.index.tenants[i]
		for j, b := range rest[:t.blocks] {
			if j == 0 {
				t.minTime, t.maxTime = b.MinTime, b.MaxTime
			}
			t.minTime, t.maxTime = min(t.minTime, b.MinTime), max(t.maxTime, b.MaxTime)
			t.rows += int64(b.Rows)
			t.raw += int64(b.Raw)
			t.frames += b.Bytes
			t.filters += int64(b.FilterBytes)
		}
		rest = rest[t.blocks:]
	}
}

// putIndex writes the sections that a reader needs first last.
func (w *Writer) putIndex() error {
	x := w.index
	w.putParts(TypeParity, len(x.parity), x.parity)
	if err := w.putStreams(); err != nil {
		return err
	}
	w.putDictionaries()
	zones, err := w.putGroups()
	if err != nil {
		return err
	}
	w.putParts(TypeStreamFilter, len(x.filter), x.filter)
	w.putParts(TypePostings, x.names, x.postings)
	w.putParts(TypeLabels, x.chunks, x.directory)
	tenants := appendTenants(nil, x.tenants, w.info.MinTime)
	if err := w.putSection(section{kind: TypeTenants, items: uint32(len(x.tenants))}, tenants); err != nil {
		return err
	}
	if err := w.putSection(section{kind: TypeZones, items: uint32(len(w.groups.zones))}, zones); err != nil {
		return err
	}
	return w.putSection(section{kind: TypeSummary, items: uint32(len(x.summary.names))}, x.summary.append(nil))
}

// putStreams writes the totals of the streams.
func (w *Writer) putStreams() error {
	var parts partsWriter
	parts.begin(w, TypeStreams, w.labels.count)
	var enc []byte
	err := w.groups.totals(w.labels.count, func(list []StreamTotals) error {
		enc = appendStreams(enc[:0], list)
		p, err := w.zip.store(enc)
		parts.put(p)
		return err
	})
	parts.end()
	return err
}

// putGroups writes the groups, and returns the section zones.
func (w *Writer) putGroups() (zones []byte, err error) {
	g := &w.groups
	s := section{kind: TypeGroups, items: uint32(len(g.blocks)), off: w.out.size()}
	for i, z := range g.zones {
		blocks := g.blocks[z.First : z.First+z.Blocks]
		all := zoneOf(blocks) // with the filters, which were not known
		all.First = z.First
		g.enc = appendBlocks(g.enc[:0], blocks, z.Zone)
		p, err := w.zip.store(g.enc)
		if err != nil {
			return nil, err
		}
		all.blocks = p.part(w.out.size())
		all.runs = g.runs[i].part(0)
		w.out.put(p.p)
		zones = all.append(zones)
	}
	for i, runs := range g.runs {
		w.out.put(runs.p)
		g.runs[i] = storedPart{}
	}
	s.bytes = w.out.size() - s.off
	s.raw = s.bytes
	w.sections = append(w.sections, s)
	return zones, nil
}

// putSection writes a section that has no parts, and completes its entry.
func (w *Writer) putSection(s section, p []byte) error {
	stored, err := w.zip.append(nil, p)
	if err != nil {
		return err
	}
	s.off, s.bytes, s.raw, s.sum = w.out.size(), int64(len(stored)), int64(len(p)), checksum(stored)
	w.out.put(stored)
	w.sections = append(w.sections, s)
	return nil
}

// putParts writes a section of parts.
func (w *Writer) putParts(kind Type, items int, parts []storedPart) {
	var p partsWriter
	p.begin(w, kind, items)
	for _, one := range parts {
		p.put(one)
	}
	p.end()
}

// A partsWriter writes a section of parts and their table.
type partsWriter struct {
	w     *Writer
	s     section
	table []byte
}

func (p *partsWriter) begin(w *Writer, kind Type, items int) {
	p.w, p.s = w, section{kind: kind, flags: flagParts, items: uint32(items), off: w.out.size()}
}

func (p *partsWriter) put(one storedPart) {
	p.table = one.part(0).append(p.table)
	p.w.out.put(one.p)
}

func (p *partsWriter) end() {
	p.w.out.put(p.table)
	p.s.bytes = p.w.out.size() - p.s.off
	p.s.raw, p.s.sum = int64(len(p.table)), checksum(p.table)
	p.w.sections = append(p.w.sections, p.s)
}
