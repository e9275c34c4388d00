package segment2

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/template"
)

var (
	errSum   = errors.New("the checksum does not match")
	errRows  = errors.New("its rows are not those of the index")
	errBytes = errors.New("its bytes are not those of the index")
	errTimes = errors.New("its times are not those of the index, or not in order")
	errGap   = errors.New("it does not end where the next part begins")
)

// Verify reads all of a segment, verifies every checksum, decodes every block,
// and compares redundant fields. bad, unless nil, is called with each damage, a
// *CorruptError; the error is the first of them, or an error that is no damage
// and ended Verify. It takes memory for the totals of all streams.
func (c *Card) Verify(ctx context.Context, src Source, bad func(error)) error {
	v := verifier{ctx: ctx, bad: bad}
	v.index2 = c.index(Within(ctx, src), &v.parts)
	v.alone = true
	for _, step := range []func() error{v.header, v.footer, v.sections, v.labels, v.groups, v.streams} {
		if err := step(); err != nil {
			return err
		}
	}
	return v.first
}

// A verifier is a Verify under way.
type verifier struct {
	*index2
	ctx   context.Context
	bad   func(error)
	first error
	parts verifierParts

	totals  []streamTotal // of each stream; nil if a group is damaged
	frame   Frame
	ids     []ID
	decoder block.Decoder
	tables  *Tables              // of the group; nil if they are damaged
	table   []block.TemplateRows // of the block

	toldTables bool // damage of their section was reported
}

// verifierParts keeps the parts that are used again and again.
type verifierParts map[PartKey]CachedPart

func (m *verifierParts) Present(k PartKey) CachedPart { return (*m)[k] }

func (m *verifierParts) Load(ctx context.Context, k PartKey, load func(context.Context) (CachedPart, error)) (CachedPart, error) {
	p, err := load(ctx)
	switch k.Kind {
	case DirectoryPart, PartTablePart, StreamFilterPart, LabelFiltersPart, ZonePlacesPart, TenantsPart, PostingsDirectoryPart, DictionaryPart:
		if err == nil {
			if *m == nil {
				*m = verifierParts{}
			}
			(*m)[k] = p
		}
	}
	return p, err
}

// report records damage. It returns errors that are no damage.
func (v *verifier) report(err error) error {
	if err == nil {
		return nil
	}
	if !isCorrupt(err) {
		return err
	}
	if v.first == nil {
		v.first = err
	}
	if v.bad != nil {
		v.bad(err)
	}
	return nil
}

func (v *verifier) damaged(off int64, block int, err error) error {
	if err == nil {
		return nil
	}
	return v.report(corrupt(v.src, off, block, "%v", err))
}

func (v *verifier) header() error {
	p := make([]byte, headerSize)
	if err := ReadFull(v.src, p, 0, -1); err != nil {
		return v.report(err)
	}
	salt, has, ok := parseHeader(p)
	i := v.card.info
	same := has.After == i.After && has.Upto == i.Upto && has.Generation == i.Generation && has.Created == i.Created &&
		has.Log == i.Log && has.Term == i.Term && has.TermBefore == i.TermBefore
	if !ok || salt != v.card.salt || !same {
		return v.report(corrupt(v.src, 0, -1, "the header is not as it was written"))
	}
	return nil
}

// footer reads what the card has again, as that may have been kept for long.
func (v *verifier) footer() error {
	again, err := OpenCard(v.src, v.card.info.Size)
	if err == nil && (again.info != v.card.info || again.salt != v.card.salt || !slices.Equal(again.sections, v.card.sections)) {
		err = corrupt(v.src, v.card.info.Size-footerSize, -1, "the footer changed since the segment was opened")
	}
	return v.report(err)
}

// sections verifies the checksums of all sections but those of groups and
// filters, and the content that is compared with nothing else.
func (v *verifier) sections() error {
	for i := range v.card.sections {
		s := &v.card.sections[i]
		if s.kind == TypeGroups || s.kind == TypeFilters {
			continue
		}
		err := v.section(s)
		if s.kind == TypeTables && err != nil {
			v.toldTables = true
		}
		if err == nil {
			err = v.twice(s)
		}
		if err := v.report(err); err != nil {
			return err
		}
	}
	return nil
}

// twice returns an error for a dictionary of which one of the two copies is missing.
func (v *verifier) twice(s *section) error {
	other := TypeDictionary
	switch s.kind {
	case TypeDictionary:
		other = TypeDictionaryFrame
	case TypeDictionaryFrame:
	default:
		return nil
	}
	if v.card.instance(other, s.instance) == nil {
		return corrupt(v.src, s.off, -1, "%s %d is there, and %s is not", sectionName(s.kind), s.instance, sectionName(other))
	}
	return nil
}

func (v *verifier) section(s *section) error {
	if s.flags&flagParts == 0 {
		return v.whole(v.ctx, s, func(p []byte) error { return v.parse(s, 0, p) })
	}
	off, n := s.partTable()
	var table []part
	err := v.view(v.ctx, off, n, -1, sectionName(s.kind), func(p []byte) (err error) {
		table, err = s.parseParts(p)
		return err
	})
	for i := 0; i < len(table) && err == nil; i++ {
		err = v.viewPart(v.ctx, table[i], sectionName(s.kind), func(p []byte) error { return v.parse(s, i, p) })
	}
	return err
}

// parse decodes a part of a section.
func (v *verifier) parse(s *section, number int, p []byte) (err error) {
	switch {
	case s.kind == TypeZones:
		_, err = v.card.parseZones(p)
	case s.kind == TypeTenants:
		_, err = v.card.parseTenants(p)
	case s.kind == TypeSummary:
		_, err = parseSummary(p)
	case s.kind == TypeDictionary:
		err = checkDictionary(template.Decode(p))
	case s.kind == TypeDictionaryFrame:
		err = v.sameDictionary(s, p)
	case s.kind == TypeKeys:
		_, err = parseBatchKeys(nil, p)
	case s.kind == TypeSources:
		_, err = parseBatchSources(p)
	case s.kind == TypePostings && number == 0:
		_, _, err = parsePostingsDirectory(p)
	case s.kind == TypePostings:
		var list []posting
		list, err = parsePostings(p)
		for i := 0; i < len(list) && err == nil; i++ {
			err = addRuns(roaring.New(), list[i].runs, v.card.info.Streams)
		}
	}
	return err
}

// checkDictionary returns the error of a dictionary, unless it is of a newer version.
func checkDictionary(_ *template.Dictionary, err error) error {
	if _, newer := errors.AsType[*template.VersionError](err); newer {
		return nil
	}
	return err
}

// sameDictionary compares the dictionary frame p with the section of the same dictionary.
func (v *verifier) sameDictionary(s *section, p []byte) error {
	copied, err := v.dictionaryOf(s, p)
	if err != nil {
		return checkDictionary(copied, err)
	}
	d, err := v.readDictionary(v.ctx, TypeDictionary, uint16(s.instance+1), func(_ *section, p []byte) (*template.Dictionary, error) {
		return template.Decode(p)
	})
	if err == nil && !bytes.Equal(copied.Append(nil), d.Append(nil)) {
		err = errors.New("it is not the dictionary")
	}
	return unlessCorrupt(err) // which is reported with that section
}

// labels verifies the label frames, their order and their parity, and that the
// filters have them.
func (v *verifier) labels() error {
	if v.card.info.Streams == 0 {
		return nil
	}
	d, err := v.directory(v.ctx)
	if err := v.report(err); err != nil || d == nil {
		return err
	}
	tenants, err := v.tenants(v.ctx)
	if err != nil {
		return v.report(err)
	}
	var all parity
	last, lost := "", false
	for i := range d {
		var frame []byte
		var keys []string
		err := v.view(v.ctx, d[i].off, d[i].bytes(), -1, "labels", func(p []byte) (err error) {
			keys, err = d[i].parse(p, v.card.salt, i)
			frame = append(frame, p...)
			return err
		})
		if err == nil {
			all.add(frame)
			err = v.chunk(d, i, last, keys, tenants)
		}
		if err != nil {
			lost = true
			if err := v.report(err); err != nil {
				return err
			}
			continue
		}
		last = keys[len(keys)-1]
	}
	end := d[len(d)-1].off + d[len(d)-1].bytes()
	if zones, err := v.zones(v.ctx); err == nil && len(zones) > 0 && zones[0].frames != end {
		if err := v.damaged(end, -1, errGap); err != nil {
			return err
		}
	}
	if lost {
		return nil
	}
	return v.parity(&all)
}

// parity compares the parity parts with those of all label frames.
func (v *verifier) parity(all *parity) error {
	for i, want := range all.join() {
		err := v.partOf(v.ctx, TypeParity, i, func(p []byte) error {
			if !bytes.Equal(p, want) {
				return errors.New("it is not that of the labels")
			}
			return nil
		})
		if err := v.report(err); err != nil {
			return err
		}
	}
	return nil
}

// chunk verifies that the index has the keys of a chunk. last is the key before.
func (v *verifier) chunk(d directory, number int, last string, keys []string, tenants tenantList) error {
	e := d[number]
	damaged := func(format string, args ...any) error {
		return corrupt(v.src, e.off, -1, format, args...)
	}
	if keys[0] <= last || last >= e.separator && number > 0 || e.separator > keys[0] {
		return damaged("labels of chunk %d: not in order", number)
	}
	sets, err := v.chunkFilters(v.ctx, number/filterChunks)
	if err != nil {
		return err
	}
	set := sets[number%filterChunks]
	for i, key := range keys {
		ordinal := e.first + uint32(i)
		tenant, labels, _ := splitKey(key)
		at := findTenant(tenants, tenant)
		if at < 0 || ordinal < tenants[at].first || ordinal-tenants[at].first >= uint32(tenants[at].streams) {
			return damaged("stream %d: its tenant does not have it", ordinal)
		}
		if may, err := v.mayHave(v.ctx, key); err != nil || !may {
			return cmp.Or(err, damaged("stream %d: the stream filter does not have it", ordinal))
		}
		for name, value := range allLabels(labels) {
			if !filter.InSet(set, labelKeyOf(name, "")) || !filter.InSet(set, labelKeyOf(name, value)) {
				return damaged("stream %d: the label filter does not have %s", ordinal, name)
			}
		}
	}
	return nil
}

// groups verifies the groups, and all blocks and filters.
func (v *verifier) groups() error {
	zones, err := v.zones(v.ctx)
	if err != nil || len(zones) == 0 {
		return v.report(err)
	}
	v.totals = make([]streamTotal, v.card.info.Streams)
	end := zones[0].frames
	for i := range zones {
		g, err := v.Group(v.ctx, i)
		if err == nil && zones[i].frames != end {
			err = corrupt(v.src, end, g.First, "%v", errGap)
		}
		if err != nil {
			v.totals = nil
			if err := v.report(err); err != nil {
				return err
			}
			continue
		}
		last := &g.Blocks[len(g.Blocks)-1]
		end = last.Offset + last.Bytes
		runs, err := v.Runs(v.ctx, i)
		if err != nil {
			v.totals = nil
			if err := v.report(err); err != nil {
				return err
			}
		}
		if v.tables, err = v.Tables(v.ctx, i); v.toldTables {
			err = UnlessRebuilt(err)
		}
		if err := v.report(err); err != nil {
			return err
		}
		for n := range g.Blocks {
			if err := v.block(g, g.First+n, runs.Of(g.First+n)); err != nil {
				return err
			}
		}
	}
	if v.totals != nil && len(v.card.sections) > 0 && end != v.card.sections[0].off {
		return v.damaged(end, -1, errGap)
	}
	return nil
}

// block verifies a block and its filter. runs are nil if the index does not tell
// them.
func (v *verifier) block(g *Group, n int, runs Runs) error {
	b := g.Block(n)
	err := v.ReadFrame(v.ctx, &v.frame, g, n)
	if err := v.report(err); err != nil {
		return err
	}
	if v.frame.Block != nil {
		if !knownCodec(v.frame.Codec) {
			return &VersionError{File: v.src.Name(), Version: version, Codec: v.frame.Codec}
		}
		if err := v.content(b, n, runs); err != nil {
			return err
		}
		if err == nil { // else the positions cannot be verified
			v.ids, err = v.IDs(v.ctx, v.ids[:0], &v.frame)
			if err := v.report(err); err != nil {
				return err
			}
		}
	}
	if v.totals != nil {
		for _, r := range runs {
			v.totals[r.Ordinal].add(r)
		}
	}
	if b.FilterBytes == 0 {
		return nil
	}
	return v.report(v.view(v.ctx, b.FilterOffset, int64(b.FilterBytes), n, "its filter", func(p []byte) error {
		if checksum(p) != b.filterSum {
			return errSum
		}
		return filter.Check(p)
	}))
}

// content verifies the block of v.frame, and that the index has its table.
func (v *verifier) content(b *Block, n int, runs Runs) error {
	templates, err := v.Dictionary(v.ctx, v.frame.Dictionary)
	if UnlessRebuilt(err) != nil { // v.sections has reported one that was rebuilt
		return v.report(err)
	}
	why := v.rows(b, runs, templates)
	if why == nil && b.Codec == CodecColumns && v.tables != nil && v.tables.ends != nil {
		if v.table, why = block.Table(v.table[:0], v.frame.Block); why == nil && !slices.Equal(v.table, v.tables.Of(n)) {
			why = errors.New("its table is not that of the index")
		}
	}
	if why == nil {
		return nil
	}
	return v.report(wrongContent(v.src, b.Offset, n, why))
}

// rows decodes the block of v.frame, and compares it with the index.
func (v *verifier) rows(b *Block, runs Runs, templates *template.Dictionary) error {
	times, err := v.decoder.Decode(v.frame.Block, templates)
	if err != nil {
		return err
	}
	if len(times) != int(b.Rows) {
		return errRows
	}
	for i, r := range runs {
		if v.frame.Runs[i] != (FrameRun{r.Ordinal, r.First, r.Rows, r.Seq}) {
			return errors.New("its list of runs is not that of the index")
		}
		part, raw := times[r.First:r.First+r.Rows], int64(0)
		if part[0] != r.MinTime || part[r.Rows-1] != r.MaxTime || !slices.IsSorted(part) {
			return errTimes
		}
		for row := r.First; row < r.First+r.Rows; row++ {
			raw += int64(len(v.decoder.Line(int(row))) + len(v.decoder.Meta(int(row))))
		}
		if raw != r.Raw {
			return errBytes
		}
	}
	return nil
}

// streams compares the table of streams with the runs of the groups.
func (v *verifier) streams() error {
	for part := 0; part*PartStreams < v.card.info.Streams; part++ {
		t, err := v.Streams(v.ctx, part)
		if err := v.report(err); err != nil {
			return err
		}
		if err != nil || v.totals == nil {
			continue
		}
		for i, s := range t.Streams {
			if v.totals[int(t.First)+i].stored() != s {
				err = fmt.Errorf("stream %d: its runs do not add up to the table of streams", int(t.First)+i)
				if err := v.damaged(v.card.section(TypeStreams).off, -1, err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
