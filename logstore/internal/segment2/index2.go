package segment2

import (
	"context"
	"hash/maphash"
	"math"
	"slices"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// An index2 reads the index of a segment of version 2 in parts.
type index2 struct {
	card   *Card
	src    Source
	viewer Viewer // src, if it is one
	cache  Cache
	alone  bool   // groups are read one by one: the cache does not keep those behind
	ahead  *ahead // or nil
}

// Index returns the index of the segment, read from src. cache may be nil.
func (c *Card) Index(src Source, cache Cache) Index { return c.index(src, cache) }

func (c *Card) index(src Source, cache Cache) *index2 {
	x := &index2{card: c, src: src, cache: cache}
	x.viewer, _ = src.(Viewer)
	return x
}

func (x *index2) Info() Info { return x.card.info }

func (x *index2) MaySelect(tenant string, conditions []Condition) bool {
	return x.card.MaySelect(tenant, conditions)
}

func (x *index2) Zones(ctx context.Context) ([]Zone, error) {
	k := PartKey{ZonesPart, 0}
	if l, ok := Present[ZoneList](x.cache, k); ok {
		return l, nil
	}
	places, err := x.zones(ctx)
	if err != nil {
		return nil, err
	}
	return Load(ctx, x.cache, k, func(context.Context) (ZoneList, error) {
		zones := make(ZoneList, len(places))
		for i := range places {
			zones[i] = places[i].Zone
		}
		return zones, nil
	})
}

// zones returns the zones with their places.
func (x *index2) zones(ctx context.Context) (zoneList, error) {
	if x.card.zones != nil {
		return x.card.zones, ctx.Err()
	}
	s := x.card.section(TypeZones)
	if s == nil {
		return nil, ctx.Err()
	}
	k := PartKey{ZonePlacesPart, 0}
	if l, ok := Present[zoneList](x.cache, k); ok {
		return l, nil
	}
	return Load(ctx, x.cache, k, func(ctx context.Context) (l zoneList, err error) {
		err = x.whole(ctx, s, func(p []byte) (err error) {
			l, err = x.card.parseZones(p)
			return err
		})
		return l, err
	})
}

func (x *index2) Group(ctx context.Context, group int) (*Group, error) {
	k := PartKey{GroupPart, uint32(group)}
	if g, ok := Present[*Group](x.cache, k); ok {
		return g, nil
	}
	zones, err := x.zones(ctx)
	if err != nil {
		return nil, err
	}
	z := &zones[group]
	g, err := Load(ctx, x.cache, k, func(ctx context.Context) (g *Group, err error) {
		err = x.viewBeside(ctx, x.groups(zones), z.blocks, func(stored []byte) error {
			return z.blocks.view(stored, func(p []byte) (err error) {
				g, err = parseGroup(p, group, z)
				return err
			})
		})
		return g, err
	})
	if isCorrupt(err) {
		return rebuilt(err, func() (*Group, error) { return x.rebuildGroup(ctx, group, z) })
	}
	return g, err
}

// readBeside is how many bytes are read at once where one part of them is needed: a read
// from afar takes about as long for all of them.
const readBeside = 1 << 20

// groups returns where the first parts of all groups lie, with the templates before them.
func (x *index2) groups(l zoneList) region {
	last := &l[len(l)-1].blocks
	begin := min(l[0].blocks.off, x.card.templatesBegin())
	return region{GroupsPart, begin, last.off + int64(last.bytes), readBeside, sectionName(TypeGroups)}
}

// templatesBegin returns where the dictionaries and tables begin that lie before the groups.
func (c *Card) templatesBegin() int64 {
	begin := int64(math.MaxInt64)
	i := slices.IndexFunc(c.sections, func(s section) bool { return s.kind == TypeGroups })
	for i--; i >= 0 && (c.sections[i].kind == TypeDictionary || c.sections[i].kind == TypeTables); i-- {
		begin = c.sections[i].off
	}
	return begin
}

// runs returns where the second parts of all groups lie.
func (l zoneList) runs() region {
	last := &l[len(l)-1].runs
	return region{GroupRunsPart, l[0].runs.off, last.off + int64(last.bytes), readBeside, sectionName(TypeGroups)}
}

// filters returns where the filters of all groups lie.
func (l zoneList) filters() region {
	last := &l[len(l)-1]
	return region{FiltersPart, l[0].filters, last.filters + int64(last.filterBytes), MaxRead, sectionName(TypeFilters)}
}

func (x *index2) Runs(ctx context.Context, group int) (Runs, error) {
	k := PartKey{RunsPart, uint32(group)}
	if r, ok := Present[Runs](x.cache, k); ok {
		return r, nil
	}
	zones, err := x.zones(ctx)
	if err != nil {
		return nil, err
	}
	g, bad := x.Group(ctx, group)
	if g == nil {
		return nil, bad
	}
	runs, err := Load(ctx, x.cache, k, func(ctx context.Context) (runs Runs, err error) {
		z := &zones[group]
		err = x.viewBeside(ctx, zones.runs(), z.runs, func(stored []byte) error {
			return z.runs.view(stored, func(p []byte) (err error) {
				runs, err = parseRuns(p, g, z.Zone)
				return err
			})
		})
		return runs, err
	})
	if isCorrupt(err) {
		return rebuilt(err, func() (Runs, error) { return x.rebuildRuns(ctx, g) })
	}
	if err == nil {
		err = bad
	}
	return runs, err
}

func (x *index2) Streams(ctx context.Context, number int) (*Part, error) {
	k := PartKey{StreamsPart, uint32(number)}
	if p, ok := Present[*Part](x.cache, k); ok {
		return p, nil
	}
	if err := x.beginStreams(ctx); err != nil {
		return nil, err
	}
	n := min(PartStreams, x.card.info.Streams-number*PartStreams)
	t, err := Load(ctx, x.cache, k, func(ctx context.Context) (*Part, error) {
		t := &Part{First: uint32(number * PartStreams)}
		err := x.partOf(ctx, TypeStreams, number, func(p []byte) (err error) {
			t.Streams, err = parseStreams(p, n)
			return err
		})
		if err != nil {
			return nil, err
		}
		return t, nil
	})
	if isCorrupt(err) {
		return rebuilt(err, func() (*Part, error) { return x.rebuildStreams(ctx, number, n) })
	}
	return t, err
}

type directory []chunkEntry

func (d directory) Weight() int64 {
	n := int64(cap(d)) * int64(unsafe.Sizeof(chunkEntry{}))
	for i := range d {
		n += int64(len(d[i].separator))
	}
	return n
}

// chunksOf returns the chunks of streams, nil meaning all, between two ordinals.
func (d directory) chunksOf(streams *roaring.Bitmap, low, high uint32) []int {
	var chunks []int
	for c := chunkOf(d, low); c < len(d) && d[c].first <= high; c++ {
		if streams != nil {
			next := streams.NextValue(max(low, d[c].first))
			if next < 0 || next > int64(high) {
				break
			}
			if uint32(next) >= d[c].first+d[c].streams {
				c = chunkOf(d, uint32(next))
			}
		}
		chunks = append(chunks, c)
	}
	return chunks
}

// directory returns the label directory, nil if it cannot be read. If it had to
// be rebuilt, the error says so.
func (x *index2) directory(ctx context.Context) (directory, error) {
	k := PartKey{DirectoryPart, 0}
	if d, ok := Present[directory](x.cache, k); ok {
		return d, nil
	}
	d, err := Load(ctx, x.cache, k, func(ctx context.Context) (d directory, err error) {
		err = x.partOf(ctx, TypeLabels, 0, func(p []byte) (err error) {
			d, err = parseDirectory(p, x.card.info.Streams)
			return err
		})
		return d, err
	})
	if isCorrupt(err) {
		return rebuilt(err, func() (directory, error) { return x.rebuildDirectory(ctx) })
	}
	return d, err
}

func (x *index2) ChunkOf(ctx context.Context, ordinal uint32) (int, error) {
	d, err := x.directory(ctx)
	if d == nil {
		return 0, err
	}
	return chunkOf(d, ordinal), nil // Labels tells what was rebuilt
}

// contentSeed is that of Content.Hash.
var contentSeed = maphash.MakeSeed()

func contentHash(stored []byte) uint64 { return maphash.Bytes(contentSeed, stored) }

// Content hashes the stored bytes, unless the cache has the chunk of a far segment, which
// tells. Damaged ones have another hash than those that Labels has verified.
func (x *index2) Content(ctx context.Context, ordinal uint32) (Content, error) {
	d, err := x.directory(ctx)
	if d == nil {
		return Content{}, err
	}
	chunk := chunkOf(d, ordinal)
	e := d[chunk]
	c := Content{First: e.first, Streams: e.streams}
	if x.viewer == nil { // a near one is hashed in less time
		if has, ok := Present[*Chunk](x.cache, PartKey{LabelsPart, uint32(chunk)}); ok {
			c.Hash = has.hash
			return c, ctx.Err()
		}
	}
	err = x.viewFrame(ctx, d, chunk, func(frame []byte) error {
		c.Hash = contentHash(frame[labelHeaderSize:])
		return nil
	})
	return c, err
}

func (x *index2) Labels(ctx context.Context, chunk int) (*Chunk, error) {
	k := PartKey{LabelsPart, uint32(chunk)}
	if c, ok := Present[*Chunk](x.cache, k); ok {
		return c, nil
	}
	return Load(ctx, x.cache, k, func(ctx context.Context) (*Chunk, error) {
		d, bad := x.directory(ctx)
		if d == nil {
			return nil, bad
		}
		keys, hash, err := x.keys(ctx, d, chunk)
		if keys == nil {
			return nil, err
		}
		for i, key := range keys {
			_, keys[i], _ = splitKey(key)
		}
		if err == nil {
			err = bad
		}
		return &Chunk{First: d[chunk].first, Labels: keys, hash: hash}, err
	})
}

// framesBeside is how many bytes of label frames are read at once where one is needed.
const framesBeside = 64 << 10

// viewFrame calls f with the label frame of a chunk.
func (x *index2) viewFrame(ctx context.Context, d directory, chunk int, f func([]byte) error) error {
	x.beginFrames(d)
	e, last := &d[chunk], &d[len(d)-1]
	frames := region{FramesPart, headerSize, last.off + last.bytes(), framesBeside, "labels"}
	return x.viewBeside(ctx, frames, part{off: e.off, bytes: int(e.bytes())}, f)
}

// keys reads the keys of a chunk, and returns the hash of its content. If its frame is
// damaged they are rebuilt, and come with an error.
func (x *index2) keys(ctx context.Context, d directory, chunk int) (keys []string, hash uint64, err error) {
	e := d[chunk]
	err = x.viewFrame(ctx, d, chunk, func(p []byte) (err error) {
		if keys, err = e.parse(p, x.card.salt, chunk); err == nil {
			hash = contentHash(p[labelHeaderSize:])
		}
		return err
	})
	if !isCorrupt(err) {
		return keys, hash, err
	}
	frame, again := x.rebuild(ctx, d, chunk)
	if again == nil {
		keys, again = e.parse(frame, x.card.salt, chunk)
	}
	if again != nil && !isCorrupt(again) && ctx.Err() != nil {
		return nil, 0, again
	}
	err.(*CorruptError).Rebuilt = again == nil
	return keys, 0, err
}

// rebuild returns the frame of a chunk, from the others of its parity group.
func (x *index2) rebuild(ctx context.Context, d directory, chunk int) (frame []byte, err error) {
	err = x.partOf(ctx, TypeParity, chunk%parityGroups(len(d)), func(part []byte) error {
		frame, err = rebuildFrame(d, chunk, part, func(other int) (p []byte, err error) {
			err = x.view(ctx, d[other].off, d[other].bytes(), -1, "labels", func(stored []byte) error {
				if _, err := d[other].parse(stored, x.card.salt, other); err != nil {
					return err
				}
				p = append(p, stored...)
				return nil
			})
			return p, err
		})
		return err
	})
	return frame, err
}

// parse verifies the label frame of the entry and returns its keys.
func (e chunkEntry) parse(p []byte, salt uint64, chunk int) ([]string, error) {
	f, keys, err := parseChunk(p, salt, e.off)
	if err == nil && (int(f.number) != chunk || f.first != e.first || f.streams != e.streams || f.stored != e.stored) {
		err = errForm
	}
	return keys, err
}

// tenants returns what each tenant has.
func (x *index2) tenants(ctx context.Context) (tenantList, error) {
	if x.card.tenants != nil {
		return x.card.tenants, ctx.Err()
	}
	s := x.card.section(TypeTenants)
	if s == nil {
		return nil, ctx.Err()
	}
	k := PartKey{TenantsPart, 0}
	if l, ok := Present[tenantList](x.cache, k); ok {
		return l, nil
	}
	return Load(ctx, x.cache, k, func(ctx context.Context) (l tenantList, err error) {
		err = x.whole(ctx, s, func(p []byte) (err error) {
			l, err = x.card.parseTenants(p)
			return err
		})
		return l, err
	})
}

// tenant returns the ordinals of a tenant, from low to before high.
func (x *index2) tenant(ctx context.Context, tenant string) (low, high uint32, err error) {
	list, err := x.tenants(ctx)
	if i := findTenant(list, tenant); err == nil && i >= 0 {
		low, high = list[i].first, list[i].first+uint32(list[i].streams)
	}
	return low, high, err
}

func (x *index2) Find(ctx context.Context, tenant, labels string) (ordinal uint32, ok bool, err error) {
	x = x.inOrder(ctx)
	defer x.stop()
	x.wantSections(TypeTenants, TypeStreamFilter, TypeLabels)
	low, high, err := x.tenant(ctx, tenant)
	if err != nil || low == high {
		return 0, false, err
	}
	var found damage
	key := string(appendKey(nil, tenant, labels))
	may, err := x.mayHave(ctx, key)
	if err := found.note(err); err != nil || !may {
		return 0, false, err
	}
	d, err := x.directory(ctx)
	if err := found.note(err); err != nil {
		return 0, false, err
	}
	if d == nil {
		found.lost = true
		return 0, false, found.result()
	}
	chunk := chunkOfKey(d, key)
	if chunk < 0 {
		return 0, false, found.result()
	}
	c, err := x.Labels(ctx, chunk)
	if err := found.note(err); err != nil {
		return 0, false, err
	}
	if c == nil {
		found.lost = true
		return 0, false, found.result()
	}
	// Of a chunk with several tenants, the part that is this one's.
	from := min(max(low, c.First)-c.First, uint32(len(c.Labels)))
	to := max(from, min(high-c.First, uint32(len(c.Labels))))
	i, ok := findLabels(c.Labels[from:to], labels)
	return c.First + from + uint32(i), ok, found.result()
}

type rawPart []byte

func (p rawPart) Weight() int64 { return int64(cap(p)) }

// mayHave reports whether the stream filter does not rule out a key.
func (x *index2) mayHave(ctx context.Context, key string) (bool, error) {
	s := x.card.section(TypeStreamFilter)
	if s == nil || s.items == 0 {
		return true, nil
	}
	hash := filter.KeyOf([]byte(key))
	number := partOfHash(hash, int(s.items))
	k := PartKey{StreamFilterPart, uint32(number)}
	set, ok := Present[rawPart](x.cache, k)
	if !ok {
		var err error
		set, err = Load(ctx, x.cache, k, func(ctx context.Context) (set rawPart, err error) {
			err = x.partOf(ctx, TypeStreamFilter, number, func(p []byte) error {
				if !filter.IsSet(p) {
					return errForm
				}
				set = append(set, p...)
				return nil
			})
			return set, err
		})
		if err != nil {
			return true, err
		}
	}
	return filter.InSet(set, hash), nil
}
